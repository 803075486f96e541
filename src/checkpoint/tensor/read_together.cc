#include "checkpoint/tensor/read_together.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/manifest/manifest.h"

namespace assay::checkpoint {
namespace {

/// Those from so many bytes on are read where they will lie.
constexpr int64_t kAloneBytes = int64_t{4} << 20;
/// What is fetched at a time with small ones in it.
constexpr int64_t kTogetherBytes = int64_t{8} << 20;

/// A small tensor, and where its bytes lie.
struct SmallPiece {
  int64_t offset = 0;
  storage::MutableBytes memory{};

  int64_t end() const { return offset + static_cast<int64_t>(memory.size()); }
};

/// Neighbours in one source.
struct Neighbours {
  std::shared_ptr<const DataSource> source{};
  std::vector<SmallPiece> pieces{};
  int64_t begin = 0;  ///< of a stretch that is summed
};

int64_t BeginOfStretch(int64_t offset) {
  return offset / kSegmentBytes * kSegmentBytes;
}

std::vector<Neighbours> NeighboursOf(const std::shared_ptr<const DataSource>& source, std::vector<SmallPiece> pieces) {
  std::ranges::sort(pieces, {}, &SmallPiece::offset);
  std::vector<Neighbours> groups;
  for (const SmallPiece& piece : pieces) {
    const bool fits = !groups.empty() && piece.end() <= groups.back().begin + kTogetherBytes &&
                      piece.offset - groups.back().pieces.back().end() <= kSegmentBytes;
    if (!fits) {
      groups.push_back({.source = source, .begin = BeginOfStretch(piece.offset)});
    }
    groups.back().pieces.push_back(piece);
  }
  return groups;
}

Status ReadNeighbours(const Neighbours& neighbours) {
  int64_t end = 0;
  for (const SmallPiece& piece : neighbours.pieces) {
    end = std::max(end, piece.end());
  }
  std::vector<std::byte> bytes(static_cast<size_t>(end - neighbours.begin));
  const storage::ReadPiece whole = {neighbours.begin, bytes};
  ASSAY_RETURN_IF_ERROR(neighbours.source->Read(std::span(&whole, 1)));
  for (const SmallPiece& piece : neighbours.pieces) {
    std::memcpy(piece.memory.data(), bytes.data() + (piece.offset - neighbours.begin), piece.memory.size());
  }
  return Status::Ok();
}

}  // namespace

Status ReadTogether(const std::vector<TensorRead>& reads, int at_a_time) {
  std::vector<const TensorRead*> alone;
  std::map<std::shared_ptr<const DataSource>, std::vector<SmallPiece>> small;
  for (const TensorRead& read : reads) {
    if (read.memory.empty()) {
      continue;
    }
    if (static_cast<int64_t>(read.memory.size()) >= kAloneBytes) {
      alone.push_back(&read);
      continue;
    }
    DataRange range = RowMajorRange(read.tensor);
    small[std::move(range.source)].push_back({range.offset, read.memory});
  }
  std::vector<Neighbours> groups;
  for (auto& [source, pieces] : small) {
    std::ranges::move(NeighboursOf(source, std::move(pieces)), std::back_inserter(groups));
  }
  const auto large = std::ssize(alone);
  std::mutex mutex;
  Status failed;
  ParallelFor(large + std::ssize(groups), at_a_time, [&](int64_t i) {
    const Status status = i < large ? ReadBox(*alone[i]->tensor, WholeOf(alone[i]->tensor->shape), alone[i]->memory)
                                    : ReadNeighbours(groups[static_cast<size_t>(i - large)]);
    if (!status.ok()) {
      const std::lock_guard lock(mutex);
      failed = status;
    }
  });
  return failed;
}

}  // namespace assay::checkpoint
