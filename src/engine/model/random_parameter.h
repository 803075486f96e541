// Parameters of a model without weights.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

#include "engine/model/parameter_source.h"

namespace assay::engine {

/// A parameter on the CPU as its initializer says: ones, zeros, or N(0, stddev) drawn by `seed` and the parameter's
/// name, the same for every number of threads. transformers cuts some of its normal distributions off at +-2, which at
/// its deviations of 0.02 changes no draw.
at::Tensor random_parameter(const ParameterSpec& spec, double stddev, at::ScalarType dtype, uint64_t seed);

/// The same into `target`, which is contiguous, on the CPU and of that shape.
void draw_parameter(const ParameterSpec& spec, double stddev, uint64_t seed, at::Tensor& target);

}  // namespace assay::engine
