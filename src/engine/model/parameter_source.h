// Where a model's parameters come from: weights of a folder, random numbers, another model.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "architecture/parameters.h"

namespace assay::engine {

using architecture::Initializer;
using architecture::ParameterSpec;

/// Hands out parameters of the right shape, dtype and device; a model asks for each exactly once, in the order of the
/// checkpoint.
using ParameterSource = std::function<at::Tensor(const ParameterSpec& spec)>;

}  // namespace assay::engine
