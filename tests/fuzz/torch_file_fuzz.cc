// Files of torch.save, zip and legacy: records and storages that are taken lie within the file, whatever it is.
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/torch/torch_reader.h"
#include "checkpoint/value/flat_state.h"
#include "checkpoint/zip/zip_reader.h"
#include "fuzz_input.h"

namespace {

/// The same bytes as of a bucket: to be read, not to be viewed.
class UnmappedSource final : public assay::checkpoint::DataSource {
 public:
  explicit UnmappedSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string uri() const override { return "x"; }
  int64_t bytes() const override { return static_cast<int64_t>(bytes_.size()); }
  assay::Status Read(std::span<const assay::storage::ReadPiece> pieces) const override {
    for (const assay::storage::ReadPiece& piece : pieces) {
      const auto size = static_cast<int64_t>(piece.memory.size());
      assay::fuzz::Require(piece.offset >= 0 && piece.offset <= bytes() - size, "what is read lies within the file");
      std::memcpy(piece.memory.data(), bytes_.data() + piece.offset, piece.memory.size());
    }
    return assay::Status::Ok();
  }

 private:
  std::string bytes_;
};

/// The tensors of a file that are no larger than it, one behind the other.
std::string TensorBytes(const assay::checkpoint::Value& value, int64_t file_bytes) {
  const auto leaves = assay::checkpoint::Flatten(value);
  std::string bytes;
  for (const auto& leaf : leaves.ok() ? *leaves : std::vector<assay::checkpoint::Leaf>()) {
    const auto tensor = leaf.value.tensor();
    if (tensor != nullptr && tensor->bytes() <= file_bytes) {
      const auto read = assay::checkpoint::ReadText(*assay::checkpoint::RowMajorBytes(tensor), 0, tensor->bytes());
      assay::fuzz::Require(read.ok(), "a tensor can be read");
      bytes += *read;
    }
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;              // NOLINT: the whole target is about them
  using namespace assay::checkpoint;  // NOLINT
  using fuzz::Require;
  const std::string file(reinterpret_cast<const char*>(data), size);
  const auto source = SourceOfText(file);
  const auto file_bytes = static_cast<int64_t>(size);
  if (const auto archive = ZipArchive::Open(source); archive.ok()) {
    int64_t bytes = 0;
    for (const ZipRecord& record : archive->records()) {
      Require(record.data_offset >= 0 && record.bytes >= 0 && record.data_offset + record.bytes <= file_bytes,
              "a record lies within the file");
      bytes += record.bytes;
    }
    Require(bytes <= file_bytes, "no byte belongs to two records");
  }
  const Result<Value> value = ReadTorchFile(source);
  if (!value.ok()) {
    Require(value.status().message().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const Result<Value> read = ReadTorchFile(std::make_shared<UnmappedSource>(file));
  Require(read.ok() && TensorBytes(*read, file_bytes) == TensorBytes(*value, file_bytes),
          "tensors are the same, mapped or read");
  return 0;
}
