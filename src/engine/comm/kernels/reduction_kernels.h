// The table of reductions over the buffers of several ranks, built once per instruction set. No header of libtorch or
// of the standard library's inline functions may come in here: see engine/kernels/cpu/simd.h.
#pragma once

#include <cstdint>

namespace assay::engine {

/// The same result goes into every destination, which may be a source. Sources are combined in their order, 16-bit ones
/// in float32, rounded once.
struct Reduction {
  const void* const* sources;
  int source_count;
  void* const* destinations;
  int destination_count;
  double scale;  ///< of the result
  bool maximum;  ///< else the sum; NaN stays NaN
};

using ReduceFunction = void (*)(const Reduction&, int64_t count);

/// One instruction set's functions, in the order float32, bfloat16, float16.
struct ReductionKernels {
  ReduceFunction typed[3];
};

namespace portable {
extern const ReductionKernels kReductions;
}
namespace avx2 {
extern const ReductionKernels kReductions;
}
namespace avx512 {
extern const ReductionKernels kReductions;
}

}  // namespace assay::engine
