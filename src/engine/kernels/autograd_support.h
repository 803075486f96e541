// What the files of differentiable operations share. Private to engine/kernels.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "engine/kernels/op_table.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

}  // namespace assay::engine
