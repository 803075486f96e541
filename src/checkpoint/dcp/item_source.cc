#include "checkpoint/dcp/item_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "checkpoint/torch/torch_reader.h"

namespace assay::checkpoint {
namespace {

/// The pickle at an item's begin and the directory at its end: what tells where the tensor's bytes are.
constexpr int64_t kHeadBytes = 1024;
constexpr int64_t kTailBytes = 1024;

class ItemSource final : public DataSource {
 public:
  ItemSource(std::shared_ptr<const DataSource> file, const DcpChunk& chunk, DType dtype, std::string name)
      : file_(std::move(file)), chunk_(chunk), dtype_(dtype), name_(std::move(name)) {}

  std::string uri() const override { return file_->uri(); }
  int64_t bytes() const override { return BytesOf(dtype_, Count(chunk_.box.sizes)); }
  Status Read(std::span<const storage::ReadPiece> pieces) const override {
    ASSAY_ASSIGN_OR_RETURN(const auto content, Content());
    return content->Read(pieces);
  }
  Result<std::optional<storage::Bytes>> View(int64_t offset, int64_t bytes) const override {
    ASSAY_ASSIGN_OR_RETURN(const auto file, file_->View(0, 0));
    if (!file) {
      return std::optional<storage::Bytes>();
    }
    ASSAY_ASSIGN_OR_RETURN(const auto content, Content());
    return content->View(offset, bytes);
  }
  Status CheckUnchanged() const override { return file_->CheckUnchanged(); }

 private:
  Result<std::shared_ptr<const DataSource>> Content() const {
    const std::lock_guard lock(mutex_);
    if (!content_) {
      content_.emplace(Look());
    }
    return *content_;
  }

  Result<std::shared_ptr<const DataSource>> Look() const {
    const int64_t length = chunk_.place.length;
    const std::array<std::pair<int64_t, int64_t>, 2> ends = {
        std::pair(int64_t{0}, std::min(kHeadBytes, length)),
        std::pair(std::max<int64_t>(length - kTailBytes, 0), std::min(kTailBytes, length))};
    ASSAY_ASSIGN_OR_RETURN(auto item, Prefetch(RangeOf(file_, chunk_.place.offset, length), ends));
    const Result<Value> value = ReadTorchFile(std::move(item));
    if (!value.ok()) {
      return value.status().WithContext(fmt::format("the item of tensor '{}' at byte {}", name_, chunk_.place.offset));
    }
    const std::shared_ptr<const Tensor> tensor = value->tensor();
    if (tensor == nullptr || tensor->dtype != dtype_ || tensor->shape != chunk_.box.sizes) {
      return Status::InvalidArgument(
          fmt::format("{}: the item of tensor '{}' at byte {} holds {}, not {} {} as .metadata says", file_->uri(),
                      name_, chunk_.place.offset, ShortText(*value), InfoOf(dtype_).name, ShapeText(chunk_.box.sizes)));
    }
    if (tensor->bits != nullptr) {
      return Status::Unsupported(
          fmt::format("{}: tensor '{}' has its conjugate or negative bit set, which is not read", file_->uri(), name_));
    }
    return RowMajorBytes(tensor);
  }

  const std::shared_ptr<const DataSource> file_;
  const DcpChunk chunk_;
  const DType dtype_;
  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::optional<Result<std::shared_ptr<const DataSource>>> content_;  // guarded by mutex_
};

}  // namespace

std::shared_ptr<const DataSource> OpenItem(std::shared_ptr<const DataSource> file, const DcpChunk& chunk, DType dtype,
                                           std::string name) {
  return std::make_shared<ItemSource>(std::move(file), chunk, dtype, std::move(name));
}

}  // namespace assay::checkpoint
