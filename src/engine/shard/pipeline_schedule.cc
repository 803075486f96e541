#include "engine/shard/pipeline_schedule.h"

#include <algorithm>

namespace assay::engine {

std::vector<PipelineTurn> one_forward_one_backward(int64_t stage, int64_t stages, int64_t micro_batches) {
  const int64_t ahead = std::min(stages - 1 - stage, micro_batches);
  std::vector<PipelineTurn> turns;
  for (int64_t micro = 0; micro < ahead; ++micro) {
    turns.push_back({PipelineTurn::Kind::kForward, micro});
  }
  for (int64_t micro = 0; micro < micro_batches; ++micro) {
    if (micro + ahead < micro_batches) {
      turns.push_back({PipelineTurn::Kind::kForward, micro + ahead});
    }
    turns.push_back({PipelineTurn::Kind::kBackward, micro});
  }
  return turns;
}

int64_t micro_batches_in_flight(int64_t stage, int64_t stages, int64_t micro_batches) {
  return std::min(stages - stage, micro_batches);
}

StageLayers layers_of_stage(int64_t layers, int64_t stage, int64_t stages) {
  const int64_t each = layers / stages;
  const int64_t left = layers % stages;
  const int64_t first_with_more = (stages - left) / 2;
  const int64_t more_before = std::clamp<int64_t>(stage - first_with_more, 0, left);
  const bool more = stage >= first_with_more && stage < first_with_more + left;
  return {stage * each + more_before, each + (more ? 1 : 0)};
}

}  // namespace assay::engine
