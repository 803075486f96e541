// Rotary position tables (Su et al. 2021, "RoFormer"), stretched as transformers' modeling_rope_utils.py does it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

#include "architecture/model_config.h"
#include "engine/kernels/ops.h"

namespace assay::engine {

using architecture::ModelConfig;

/// The frequencies of the D / 2 pairs of dimensions, float32 on the CPU, and the factor on cosines and sines.
struct RotaryFrequencies {
  at::Tensor inverse_D2;
  double attention_factor = 1.0;
};

/// `length` matters to the dynamic type only: the longest row seen, or 0.
RotaryFrequencies rotary_frequencies(const ModelConfig& config, int64_t length);

/// The table of a model, grown as longer rows come. Not safe to use from several threads.
class RotaryCache {
 public:
  RotaryCache(const ModelConfig& config, at::Device device);

  /// A table with at least `length` positions. Tables handed out earlier keep their values. With the dynamic type the
  /// frequencies follow the longest row seen, and fall back to the original ones at the first row shorter than
  /// max_positions, like transformers' dynamic_rope_update.
  const RotaryTable& table(int64_t length);

 private:
  void fill(int64_t positions);
  bool frequencies_change(int64_t length);

  ModelConfig config_;
  at::Device device_;
  int64_t scaled_length_;  ///< dynamic: the length that the frequencies are for
  RotaryTable table_;
};

}  // namespace assay::engine
