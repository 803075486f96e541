#include "checkpoint/manifest/checked_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
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

/// What of a read may land beside the pieces that were asked for.
constexpr int64_t kMostBesideBytes = 8 * kSegmentBytes;

/// Bytes that are summed together, in the pieces that they are read into.
struct SummedStretch {
  int64_t number = 0;
  std::vector<ReadPiece> parts{};
};

int64_t BeginOfStretch(int64_t offset) {
  return offset / kSegmentBytes * kSegmentBytes;
}

int64_t EndOfPiece(const ReadPiece& piece) {
  return piece.offset + static_cast<int64_t>(piece.memory.size());
}

/// Pieces in the order of their offsets, and between them what is beside them in the stretches that they touch: each of
/// these lies in them whole.
class Tiles {
 public:
  explicit Tiles(int64_t file_bytes) : file_bytes_(file_bytes) {}

  /// False, and nothing is changed, where it begins before the last one ends or too much would be read beside it. The
  /// first is always taken.
  bool Add(const ReadPiece& piece) {
    const int64_t begin = BeginOfStretch(piece.offset);
    const int64_t beside = piece.offset - (begin < EndOfLastStretch() ? end_ : begin);
    if (!pieces_.empty() && (piece.offset < end_ || beside_bytes_ + beside + kSegmentBytes > kMostBesideBytes)) {
      return false;
    }
    if (begin >= EndOfLastStretch()) {
      Close();
      end_ = begin;
    }
    Fill(piece.offset);
    pieces_.push_back(piece);
    end_ = EndOfPiece(piece);
    return true;
  }

  /// Behind the last one.
  void Close() { Fill(EndOfLastStretch()); }

  std::vector<SummedStretch> Stretches() const {
    std::vector<SummedStretch> stretches;
    for (ReadPiece rest : pieces_) {
      while (!rest.memory.empty()) {
        const int64_t number = rest.offset / kSegmentBytes;
        const size_t size =
            std::min(rest.memory.size(), static_cast<size_t>((number + 1) * kSegmentBytes - rest.offset));
        if (stretches.empty() || stretches.back().number != number) {
          stretches.push_back({.number = number});
        }
        stretches.back().parts.push_back({rest.offset, rest.memory.first(size)});
        rest = {rest.offset + static_cast<int64_t>(size), rest.memory.subspan(size)};
      }
    }
    return stretches;
  }

  const std::vector<ReadPiece>& pieces() const { return pieces_; }

 private:
  int64_t EndOfLastStretch() const { return std::min(BeginOfStretch(end_ + kSegmentBytes - 1), file_bytes_); }

  void Fill(int64_t end) {
    if (end > end_) {
      const auto size = static_cast<size_t>(end - end_);
      beside_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      pieces_.push_back({end_, MutableBytes(beside_.back().get(), size)});
      beside_bytes_ += end - end_;
      end_ = end;
    }
  }

  int64_t file_bytes_;
  std::vector<ReadPiece> pieces_;
  int64_t end_ = 0;  ///< of the last piece
  int64_t beside_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> beside_;
};

/// Takes as many pieces from the begin of `pieces` as are read at once.
Tiles TakeTiles(std::span<const ReadPiece>& pieces, int64_t file_bytes) {
  Tiles tiles(file_bytes);
  while (!pieces.empty() && tiles.Add(pieces.front())) {
    pieces = pieces.subspan(1);
  }
  tiles.Close();
  return tiles;
}

class CheckedSource final : public DataSource {
 public:
  CheckedSource(std::shared_ptr<const DataSource> source, std::shared_ptr<const ManifestFile> file)
      : source_(std::move(source)), file_(std::move(file)), viewed_(file_->segments.size()) {}

  std::string uri() const override { return source_->uri(); }
  int64_t bytes() const override { return source_->bytes(); }

  Status Read(std::span<const ReadPiece> pieces) const override {
    std::vector<ReadPiece> fetched;
    for (const ReadPiece& piece : pieces) {
      ASSAY_ASSIGN_OR_RETURN(const auto view, View(piece.offset, static_cast<int64_t>(piece.memory.size())));
      if (view) {
        std::ranges::copy(*view, piece.memory.begin());
      } else if (!LiesWithin(piece)) {
        return source_->Read(std::span(&piece, 1));  // which says so
      } else if (!piece.memory.empty()) {
        fetched.push_back(piece);
      }
    }
    std::ranges::stable_sort(fetched, {}, &ReadPiece::offset);
    for (std::span<const ReadPiece> rest = fetched; !rest.empty();) {
      ASSAY_RETURN_IF_ERROR(Fetch(TakeTiles(rest, bytes())));
    }
    return CheckUnchanged();  // what was summed earlier may have been cut off since
  }

  Result<std::optional<Bytes>> View(int64_t offset, int64_t bytes) const override {
    ASSAY_ASSIGN_OR_RETURN(auto view, source_->View(offset, bytes));
    if (!view || bytes == 0) {
      return view;
    }
    const int64_t first = offset / kSegmentBytes;
    const int64_t last = (offset + bytes - 1) / kSegmentBytes;
    ASSAY_RETURN_IF_ERROR(
        ParallelUntilFailure(last - first + 1, UsableThreads(), [&](int64_t i) { return CheckViewed(first + i); }));
    return view;
  }

  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }

 private:
  int64_t BytesOfStretch(int64_t stretch) const { return std::min(kSegmentBytes, bytes() - stretch * kSegmentBytes); }

  Status Check(int64_t stretch, uint32_t crc) const {
    const uint32_t expected = file_->segments[static_cast<size_t>(stretch)];
    if (crc == expected) {
      return Status::Ok();
    }
    const int64_t begin = stretch * kSegmentBytes;
    const int64_t end = begin + BytesOfStretch(stretch);
    return Status::Io(fmt::format("{} is damaged: the CRC32C of bytes {} to {} ({}) is {:08x} and not {:08x}", uri(),
                                  begin, end, WhatLiesAt(*file_, begin, end), crc, expected));
  }

  Status Check(const SummedStretch& stretch) const {
    uint32_t crc = 0;
    for (const ReadPiece& part : stretch.parts) {
      crc = storage::Crc32c(crc, part.memory);
    }
    return Check(stretch.number, crc);
  }

  /// What is wrong may have gone wrong on its way: it is fetched once more.
  Status CheckFetched(const SummedStretch& stretch) const {
    if (Check(stretch).ok()) {
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(source_->Read(stretch.parts));
    return Check(stretch);
  }

  Status CheckViewed(int64_t stretch) const {
    std::atomic<bool>& viewed = viewed_[static_cast<size_t>(stretch)];
    if (viewed.load(std::memory_order_acquire)) {
      return Status::Ok();
    }
    ASSAY_ASSIGN_OR_RETURN(const auto content, source_->View(stretch * kSegmentBytes, BytesOfStretch(stretch)));
    ASSAY_RETURN_IF_ERROR(Check(stretch, storage::Crc32c(0, *content)));
    viewed.store(true, std::memory_order_release);
    return Status::Ok();
  }

  bool LiesWithin(const ReadPiece& piece) const {
    const auto wanted = static_cast<int64_t>(piece.memory.size());
    return piece.offset >= 0 && wanted <= bytes() && piece.offset <= bytes() - wanted;
  }

  Status Fetch(const Tiles& tiles) const {
    ASSAY_RETURN_IF_ERROR(source_->Read(tiles.pieces()));
    for (const SummedStretch& stretch : tiles.Stretches()) {
      ASSAY_RETURN_IF_ERROR(CheckFetched(stretch));
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
