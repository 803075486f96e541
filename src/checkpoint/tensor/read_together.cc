#include "checkpoint/tensor/read_together.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "checkpoint/manifest/manifest.h"

namespace assay::checkpoint {
namespace {

/// Those from so many bytes on are read where they will lie.
constexpr int64_t kAloneBytes = int64_t{4} << 20;

/// Neighbours in one source.
struct Neighbours {
  std::shared_ptr<const DataSource> source{};
  std::vector<storage::ReadPiece> pieces{};

  int64_t begin() const { return pieces.front().offset; }
  int64_t end() const { return pieces.back().offset + static_cast<int64_t>(pieces.back().memory.size()); }
};

std::vector<Neighbours> NeighboursOf(const std::shared_ptr<const DataSource>& source,
                                     std::vector<storage::ReadPiece> pieces) {
  std::ranges::sort(pieces, {}, &storage::ReadPiece::offset);
  std::vector<Neighbours> groups;
  for (const storage::ReadPiece& piece : pieces) {
    const bool fits =
        !groups.empty() &&
        piece.offset + static_cast<int64_t>(piece.memory.size()) - groups.back().begin() <= kTogetherBytes &&
        piece.offset - groups.back().end() <= kSegmentBytes;
    if (!fits) {
      groups.push_back({.source = source});
    }
    groups.back().pieces.push_back(piece);
  }
  return groups;
}

}  // namespace

Status ReadTogether(const std::vector<TensorRead>& reads, int at_a_time) {
  std::vector<const TensorRead*> alone;
  std::map<std::shared_ptr<const DataSource>, std::vector<storage::ReadPiece>> small;
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
  const auto read = [&](int64_t i) {
    if (i < large) {
      return ReadBox(*alone[i]->tensor, WholeOf(alone[i]->tensor->shape), alone[i]->memory);
    }
    const Neighbours& group = groups[static_cast<size_t>(i - large)];
    return group.source->Read(group.pieces);
  };
  return ParallelUntilFailure(large + std::ssize(groups), at_a_time, read);
}

}  // namespace assay::checkpoint
