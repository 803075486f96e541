// Products of rows that are sorted by whose weights they are multiplied with: the experts of a mixture.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/kernels/ops.h"
#include "engine/kernels/recompute.h"

namespace assay::engine {

/// The weights of E experts: E matrices [O, I], or one tensor [E, O, I].
using ExpertWeights = std::vector<at::Tensor>;

/// y [S, O] whose rows offsets[e] to offsets[e + 1] are those of x_SI times the weight of expert e, transposed: one
/// product for each expert that has rows. An expert without rows gets a gradient of zeros. `offsets` has E + 1 entries,
/// from 0 to S. `again` and `output` as in linear(); differentiable. Throws c10::Error where the shapes do not fit.
at::Tensor grouped_linear(const at::Tensor& x_SI, const ExpertWeights& weights, const std::vector<int64_t>& offsets,
                          const RecomputePtr& again = {}, Output output = Output::kComputed);

}  // namespace assay::engine
