// Whether a model can be trained here, by its size alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "data/model_catalogue.h"

namespace assay::data {

/// What of a training decides how much memory it needs before any batch.
struct TrainingKind {
  bool full = true;  ///< else an adapter, whose size is not counted
  std::string_view dtype = "bfloat16";
  std::string_view optimizer = "adamw_torch";
  int64_t quantized_bits = 0;  ///< of the weights; 0: they are of `dtype`
};

/// OutOfMemory where a training cannot fit `memory_bytes` whatever its batch: random weights are made in memory, and
/// full training keeps a gradient of each parameter and what the optimiser keeps: AdamW two moments in the dtype of
/// what it updates, which in float16 is a float32 copy of the parameter; SGD nothing, the others one (of Lion float32).
/// A model of unknown size passes.
Status CheckTrainingFits(const ModelRef& model, const TrainingKind& training, int64_t memory_bytes);

}  // namespace assay::data
