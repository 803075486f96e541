// Buffers of several ranks combined element by element, on the CPU.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "engine/comm/kernels/reduction_kernels.h"

namespace assay::engine {

/// Elements [0, count) of float32, bfloat16, float16 or float64.
void reduce(const Reduction& reduction, c10::ScalarType dtype, int64_t count);

}  // namespace assay::engine
