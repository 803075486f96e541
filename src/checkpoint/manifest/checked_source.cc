#include "checkpoint/manifest/checked_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;
using storage::MutableBytes;
using storage::ReadPiece;

class CheckedSource final : public DataSource {
 public:
  CheckedSource(std::shared_ptr<const DataSource> source, std::shared_ptr<const ManifestFile> file)
      : source_(std::move(source)), file_(std::move(file)), viewed_(file_->segments.size()) {}

  std::string uri() const override { return source_->uri(); }
  int64_t bytes() const override { return source_->bytes(); }

  Status Read(std::span<const ReadPiece> pieces) const override {
    for (const ReadPiece& piece : pieces) {
      ASSAY_ASSIGN_OR_RETURN(const auto view, View(piece.offset, static_cast<int64_t>(piece.memory.size())));
      if (view) {
        std::ranges::copy(*view, piece.memory.begin());
      } else {
        ASSAY_RETURN_IF_ERROR(ReadStretches(piece));
      }
    }
    return Status::Ok();
  }

  Result<std::optional<Bytes>> View(int64_t offset, int64_t bytes) const override {
    ASSAY_ASSIGN_OR_RETURN(auto view, source_->View(offset, bytes));
    if (!view || bytes == 0) {
      return view;
    }
    const int64_t first = offset / kSegmentBytes;
    const int64_t last = (offset + bytes - 1) / kSegmentBytes;
    std::mutex mutex;
    Status failed;
    ParallelFor(last - first + 1, UsableThreads(), [&](int64_t i) {
      const Status status = CheckViewed(first + i);
      if (!status.ok()) {
        const std::lock_guard lock(mutex);
        failed = status;
      }
    });
    return failed.ok() ? Result<std::optional<Bytes>>(view) : failed;
  }

  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }

 private:
  int64_t BytesOfStretch(int64_t stretch) const { return std::min(kSegmentBytes, bytes() - stretch * kSegmentBytes); }

  Status Check(int64_t stretch, Bytes content) const {
    const uint32_t crc = storage::Crc32c(0, content);
    const uint32_t expected = file_->segments[static_cast<size_t>(stretch)];
    if (crc == expected) {
      return Status::Ok();
    }
    const int64_t begin = stretch * kSegmentBytes;
    const int64_t end = begin + static_cast<int64_t>(content.size());
    return Status::Io(fmt::format("{} is damaged: the CRC32C of bytes {} to {} ({}) is {:08x} and not {:08x}", uri(),
                                  begin, end, WhatLiesAt(*file_, begin, end), crc, expected));
  }

  /// What is wrong may have gone wrong on its way: it is fetched once more.
  Status CheckFetched(const ReadPiece& read) const {
    const int64_t stretch = read.offset / kSegmentBytes;
    if (Check(stretch, read.memory).ok()) {
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(source_->Read(std::span(&read, 1)));
    return Check(stretch, read.memory);
  }

  Status CheckViewed(int64_t stretch) const {
    std::atomic<bool>& viewed = viewed_[static_cast<size_t>(stretch)];
    if (viewed.load(std::memory_order_acquire)) {
      return Status::Ok();
    }
    ASSAY_ASSIGN_OR_RETURN(const auto content, source_->View(stretch * kSegmentBytes, BytesOfStretch(stretch)));
    ASSAY_RETURN_IF_ERROR(Check(stretch, *content));
    viewed.store(true, std::memory_order_release);
    return Status::Ok();
  }

  /// Whole stretches land where they belong; of the first and the last what is beside the piece is read too.
  Status ReadStretches(const ReadPiece& piece) const {
    const auto wanted = static_cast<int64_t>(piece.memory.size());
    if (piece.offset < 0 || wanted > bytes() || piece.offset > bytes() - wanted) {
      return source_->Read(std::span(&piece, 1));
    }
    const int64_t end = piece.offset + wanted;
    std::vector<std::vector<std::byte>> edges;
    std::vector<ReadPiece> reads;
    for (int64_t stretch = piece.offset / kSegmentBytes; stretch * kSegmentBytes < end; ++stretch) {
      const int64_t begin = stretch * kSegmentBytes;
      const int64_t size = BytesOfStretch(stretch);
      if (begin >= piece.offset && begin + size <= end) {
        reads.push_back(
            {begin, piece.memory.subspan(static_cast<size_t>(begin - piece.offset), static_cast<size_t>(size))});
      } else {
        reads.push_back({begin, edges.emplace_back(static_cast<size_t>(size))});
      }
    }
    ASSAY_RETURN_IF_ERROR(source_->Read(reads));
    for (const ReadPiece& read : reads) {
      ASSAY_RETURN_IF_ERROR(CheckFetched(read));
      const int64_t from = std::max(read.offset, piece.offset);
      const int64_t to = std::min(read.offset + static_cast<int64_t>(read.memory.size()), end);
      std::byte* target = piece.memory.data() + (from - piece.offset);
      const std::byte* content = read.memory.data() + (from - read.offset);
      if (target != content) {
        std::memcpy(target, content, static_cast<size_t>(to - from));
      }
    }
    return Status::Ok();
  }

  const std::shared_ptr<const DataSource> source_;
  const std::shared_ptr<const ManifestFile> file_;
  mutable std::vector<std::atomic<bool>> viewed_;  ///< by stretch: it was summed
};

}  // namespace

Result<std::shared_ptr<const DataSource>> CheckSums(std::shared_ptr<const DataSource> source,
                                                    std::shared_ptr<const ManifestFile> file) {
  if (source->bytes() != file->bytes) {
    return Status::Io(
        fmt::format("{} is damaged: it has {} bytes and not {}", source->uri(), source->bytes(), file->bytes));
  }
  return std::shared_ptr<const DataSource>(std::make_shared<CheckedSource>(std::move(source), std::move(file)));
}

std::string WhatLiesAt(const ManifestFile& file, int64_t begin, int64_t end) {
  constexpr size_t kMostNames = 3;
  std::vector<std::string> names;
  size_t count = 0;
  for (const ManifestItem& item : file.items) {
    if (item.offset < end && item.offset + item.bytes > begin) {
      if (++count <= kMostNames) {
        names.push_back(fmt::format("'{}'", item.name));
      }
    }
  }
  if (count == 0) {
    return "its header";
  }
  std::string text = count == 1 ? "tensor " : "tensors ";
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return count > kMostNames ? fmt::format("{} and {} more", text, count - kMostNames) : text;
}

}  // namespace assay::checkpoint
