// How the CPU's operations find their loops and share the work among threads. Private to engine/kernels.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::cpu {

/// The loops over memory of `dtype`, on the chosen instruction set.
inline const TypedKernels& loops_for(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return cpu_kernels().of(CpuDtype::kFloat32);
    case at::kBFloat16:
      return cpu_kernels().of(CpuDtype::kBfloat16);
    case at::kHalf:
      return cpu_kernels().of(CpuDtype::kFloat16);
    default:
      TORCH_CHECK(false, "no CPU kernels for tensors of ", dtype, ": use float32, bfloat16 or float16");
  }
}
/// Those of a tensor without storage do nothing, so that steps on shapes allocate what steps on the CPU do (see
/// shape_memory.h).
inline const TypedKernels& loops_for(const at::Tensor& x) {
  return x.is_meta() ? loops_without_work() : loops_for(x.scalar_type());
}

/// Elements below which a second thread costs more than it brings.
inline constexpr int64_t kElementsPerTask = 16384;

/// Rows that are summed into one row of float32 by one thread, so that the sum is the same whatever the threads.
inline constexpr int64_t kRowsPerPartial = 64;

/// Runs body(begin, end) over [0, rows) on libtorch's threads; a row is `width` elements of work.
template <typename Body>
void parallel_rows(int64_t rows, int64_t width, const Body& body) {
  at::parallel_for(0, rows, std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, width)), body);
}

/// Runs body(begin, end) over [0, elements); the borders are multiples of a cache line's elements.
template <typename Body>
void parallel_elements(int64_t elements, const Body& body) {
  constexpr int64_t kStretch = 1024;
  parallel_rows((elements + kStretch - 1) / kStretch, kStretch,
                [&](int64_t begin, int64_t end) { body(begin * kStretch, std::min(end * kStretch, elements)); });
}

inline int64_t partials_of(int64_t rows) {
  return (rows + kRowsPerPartial - 1) / kRowsPerPartial;
}

/// Runs body(partial, first row, end of its rows) for each kRowsPerPartial rows.
template <typename Body>
void parallel_partials(int64_t rows, const Body& body) {
  at::parallel_for(0, partials_of(rows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t partial = begin; partial < end; ++partial) {
      body(partial, partial * kRowsPerPartial, std::min(rows, (partial + 1) * kRowsPerPartial));
    }
  });
}

}  // namespace assay::engine::cpu
