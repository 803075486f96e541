// The norms of a decoder, between its blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/model/recomputable.h"

namespace assay::engine {

/// The parameters of a norm under its Hugging Face module path ("model.layers.0.input_layernorm").
struct Norm {
  std::string path;
  at::Tensor weight_H{};
  at::Tensor bias_H{};  ///< of a layer norm; undefined: a root-mean-square norm, which has none

  bool trains() const { return weight_H.requires_grad() || (bias_H.defined() && bias_H.requires_grad()); }
};

/// A residual sum, and its norm, which is made of it again.
struct NormedSum {
  at::Tensor sum_TH;
  Recomputable normed_TH;
};

/// residual + multiplier * block and its norm; without a block the sum is the residual. Only a root-mean-square norm
/// takes a multiplier other than 1.
NormedSum normed_sum(const at::Tensor& residual_TH, const at::Tensor& block_TH, const Norm& norm, double eps,
                     double multiplier = 1.0);

}  // namespace assay::engine
