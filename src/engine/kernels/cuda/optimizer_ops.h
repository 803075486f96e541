// The optimisers' part of the table in ops.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/optimizer_step.h"

namespace assay::engine::cuda {

void adamw(const std::vector<AdamwTensors>& tensors, const std::vector<AdamwArguments>& arguments);
void sgd(const std::vector<AdamwTensors>& tensors, const std::vector<SgdArguments>& arguments);
at::Tensor sum_of_squares(const std::vector<at::Tensor>& tensors);

}  // namespace assay::engine::cuda
