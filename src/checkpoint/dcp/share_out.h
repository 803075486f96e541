// A whole state as ranks would hold it under FSDP: what a save over ranks is planned from.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/dcp/save_plan.h"
#include "checkpoint/state.h"

namespace assay::checkpoint {

/// Which part of a tensor is whose.
enum class Sharing {
  kRows,  ///< as FSDP2 and sharded state dicts: rows of the first dimension, in equal parts, the last ones smaller
  kFull,  ///< as full state dicts: all of it on every rank, so each tensor is written whole by one of them
  kFlat,  ///< as flat shards (FSDP1, ZeRO): equal parts of its elements, wherever a row ends
};

/// "rows", "full", "flat".
Result<Sharing> SharingOf(std::string_view name);

struct SharedState {
  std::vector<RankHoldings> holdings{};
  std::vector<RankContents> contents{};  ///< by rank; bytes stay where they are
};

/// Values are the same on all ranks. InvalidArgument for fewer than one rank.
Result<SharedState> ShareOut(const State& state, int ranks, Sharing sharing);

}  // namespace assay::checkpoint
