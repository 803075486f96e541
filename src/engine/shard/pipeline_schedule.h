// The order in which a pipeline stage works through the micro-batches of a step.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::engine {

struct PipelineTurn {
  enum class Kind { kForward, kBackward };
  Kind kind = Kind::kForward;
  int64_t micro_batch = 0;

  bool operator==(const PipelineTurn&) const = default;
};

/// One forward, one backward (1F1B; Narayanan et al. 2019, "PipeDream", and 2021, "Efficient Large-Scale Language Model
/// Training on GPU Clusters Using Megatron-LM"): stage `stage` of `stages` runs stages - 1 - stage forwards ahead, then
/// a forward and a backward in turn, then the backwards that are left. One stage: each micro-batch there and back.
std::vector<PipelineTurn> one_forward_one_backward(int64_t stage, int64_t stages, int64_t micro_batches);

/// Micro-batches whose activations the stage holds at once, at most.
int64_t micro_batches_in_flight(int64_t stage, int64_t stages, int64_t micro_batches);

/// Consecutive layers of one stage.
struct StageLayers {
  int64_t first = 0;
  int64_t count = 0;

  bool operator==(const StageLayers&) const = default;
};

/// `layers` (at least one a stage) in equal parts; what does not divide goes to the middle stages, since the first one
/// has the embeddings too and the last one the head.
StageLayers layers_of_stage(int64_t layers, int64_t stage, int64_t stages);

}  // namespace assay::engine
