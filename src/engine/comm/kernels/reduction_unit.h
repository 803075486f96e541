// What one instruction set's unit holds: include after defining ASSAY_ISA.
#pragma once

#include "engine/comm/kernels/reduction_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

struct Sum {
  static F32 combine(F32 a, F32 b) { return a + b; }
};

struct Maximum {
  static F32 combine(F32 a, F32 b) { return (a > b) | (a != a) ? a : b; }
};

template <typename T, typename Operation>
void reduce_with(const Reduction& r, int64_t count) {
  const auto scale = static_cast<float>(r.scale);
  for_vectors(count, [&](int64_t i, auto lanes) {
    F32 total = load_lanes(static_cast<const T*>(r.sources[0]) + i, lanes);
    for (int source = 1; source < r.source_count; ++source) {
      total = Operation::combine(total, load_lanes(static_cast<const T*>(r.sources[source]) + i, lanes));
    }
    total *= scale;
    for (int destination = 0; destination < r.destination_count; ++destination) {
      store_lanes(static_cast<T*>(r.destinations[destination]) + i, total, lanes);
    }
  });
}

template <typename T>
void reduce_typed(const Reduction& r, int64_t count) {
  if (r.maximum) {
    reduce_with<T, Maximum>(r, count);
  } else {
    reduce_with<T, Sum>(r, count);
  }
}

extern const ReductionKernels kReductions;
const ReductionKernels kReductions = {{reduce_typed<float>, reduce_typed<Bf16>, reduce_typed<Half>}};

}  // namespace assay::engine::ASSAY_ISA
