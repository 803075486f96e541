// The weights of a layer's experts as one tensor, which an adapter may be put on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/kernels/grouped_linear.h"
#include "engine/kernels/ops.h"
#include "engine/model/recomputable.h"

namespace assay::engine {

/// The matrices [O, I] of all experts of a layer that do the same, under the name that they have in transformers as one
/// tensor ("model.layers.0.mlp.experts.gate_up_proj"), however they are stored and held here.
struct ExpertStack {
  std::string path;
  int64_t experts = 0;
  int64_t out = 0;
  int64_t in = 0;
  /// What its matrices are in: of each equal part of the outputs one tensor of all experts, or one of each expert.
  std::vector<ExpertWeights*> weights = {};
  /// As peft has it: A is [E r, I], the rows of an expert together, and B is [O, r E], the columns of an expert E
  /// apart.
  std::optional<LoraTensors> lora{};

  /// What the adapter, which must be there, adds to the products of rows [S, I] that are sorted by expert; see
  /// grouped_linear().
  at::Tensor update(const Recomputable& x_SI, const std::vector<int64_t>& offsets,
                    Output output = Output::kComputed) const;
};

}  // namespace assay::engine
