// Which ranges are asked for to fill the caller's pieces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/object_store.h"

namespace assay::storage {

/// One ranged request and where its bytes go. Targets lie within the range, in order, and do not overlap; bytes between
/// them are dropped.
struct RangeRequest {
  int64_t offset = 0;
  int64_t bytes = 0;
  std::vector<ReadPiece> targets;
};

/// Pieces nearer than this are fetched in one request: what the gap costs is less than a request.
inline constexpr int64_t kCoalesceGapBytes = int64_t{128} << 10;

/// Cuts pieces larger than `part_bytes`, and joins near ones while the request stays within it. Empty pieces are left
/// out. The requests come in order of offset.
std::vector<RangeRequest> PlanRanges(std::span<const ReadPiece> pieces, int64_t part_bytes);

}  // namespace assay::storage
