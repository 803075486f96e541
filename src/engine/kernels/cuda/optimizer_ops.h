// The optimisers' part of the table in ops.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/optimizer_step.h"
#include "engine/kernels/update_scale.h"

namespace assay::engine::cuda {

void adamw(const std::vector<AdamwTensors>& tensors, const std::vector<AdamwArguments>& arguments,
           const PlainRule& rule);
void sgd(const std::vector<AdamwTensors>& tensors, const std::vector<SgdArguments>& arguments, const PlainRule& rule);
at::Tensor gradient_stats(const std::vector<at::Tensor>& tensors);

}  // namespace assay::engine::cuda
