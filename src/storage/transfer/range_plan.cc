#include "storage/transfer/range_plan.h"

#include <algorithm>

namespace assay::storage {
namespace {

int64_t EndOf(const RangeRequest& request) {
  return request.offset + request.bytes;
}

std::vector<ReadPiece> CutAndSort(std::span<const ReadPiece> pieces, int64_t part_bytes) {
  std::vector<ReadPiece> cut;
  for (const ReadPiece& piece : pieces) {
    for (size_t done = 0; done < piece.memory.size(); done += static_cast<size_t>(part_bytes)) {
      const size_t bytes = std::min(static_cast<size_t>(part_bytes), piece.memory.size() - done);
      cut.push_back({piece.offset + static_cast<int64_t>(done), piece.memory.subspan(done, bytes)});
    }
  }
  std::stable_sort(cut.begin(), cut.end(), [](const ReadPiece& a, const ReadPiece& b) { return a.offset < b.offset; });
  return cut;
}

}  // namespace

std::vector<RangeRequest> PlanRanges(std::span<const ReadPiece> pieces, int64_t part_bytes) {
  std::vector<RangeRequest> requests;
  for (const ReadPiece& piece : CutAndSort(pieces, part_bytes)) {
    const int64_t end = piece.offset + static_cast<int64_t>(piece.memory.size());
    const bool joins = !requests.empty() && piece.offset >= EndOf(requests.back()) &&
                       piece.offset - EndOf(requests.back()) <= kCoalesceGapBytes &&
                       end - requests.back().offset <= part_bytes;
    if (!joins) {
      requests.push_back({piece.offset, 0, {}});
    }
    requests.back().bytes = end - requests.back().offset;
    requests.back().targets.push_back(piece);
  }
  return requests;
}

}  // namespace assay::storage
