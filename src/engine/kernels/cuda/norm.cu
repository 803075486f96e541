#include "engine/kernels/cuda/launch.cuh"
#include "engine/kernels/cuda/norm_bodies.h"

namespace assay::engine::cuda {
namespace {

/// What a block may have without asking for more.
constexpr int64_t kSharedBytes = 48 << 10;

template <typename T, int kLanes>
__global__ void __launch_bounds__(kMaxThreads) norm_forward_kernel(const __grid_constant__ NormForward task) {
  Block block;
  norm_forward_row<T, kLanes>(task, blockIdx.x, block);
}

/// Blocks take rows in turn. Sums for the weight are kept in shared memory where they fit, else in the block's part of
/// the result itself.
template <typename T, int kLanes>
__global__ void __launch_bounds__(kMaxThreads)
    norm_backward_kernel(const __grid_constant__ NormBackward task, bool in_shared) {
  extern __shared__ float shared_sums[];
  Block block;
  float* part = task.grad_weight == nullptr ? nullptr : task.grad_weight + blockIdx.x * task.width;
  float* sums = in_shared ? shared_sums : part;
  if (sums != nullptr) {
    for (int64_t i = block.rank(); i < task.width; i += block.size()) {
      sums[i] = 0.0F;
    }
    __syncthreads();
  }
  for (int64_t row = blockIdx.x; row < task.rows; row += gridDim.x) {
    norm_backward_row<T, kLanes>(task, row, sums, block);
  }
  if (in_shared) {
    __syncthreads();
    for (int64_t i = block.rank(); i < task.width; i += block.size()) {
      part[i] = sums[i];
    }
  }
}

template <typename T, int kLanes>
void launch_backward(const NormBackward& task, Stream stream) {
  const bool wants_weight = task.grad_weight != nullptr;
  const int64_t sums_bytes = task.width * static_cast<int64_t>(sizeof(float));
  const bool in_shared = wants_weight && sums_bytes <= kSharedBytes;
  const int64_t blocks = wants_weight ? task.parts : task.rows;
  norm_backward_kernel<T, kLanes>
      <<<blocks, threads_for(task.width / kLanes), in_shared ? sums_bytes : 0, stream>>>(task, in_shared);
}

}  // namespace

void launch(const NormForward& task, Dtype dtype, Stream stream) {
  if (task.rows == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    if (in_packs<T>(task)) {
      norm_forward_kernel<T, kLanes><<<task.rows, threads_for(task.width / kLanes), 0, stream>>>(task);
    } else {
      norm_forward_kernel<T, 1><<<task.rows, threads_for(task.width), 0, stream>>>(task);
    }
  });
}

void launch(const NormBackward& task, Dtype dtype, Stream stream) {
  if (task.rows == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    in_packs<T>(task) ? launch_backward<T, kLanes>(task, stream) : launch_backward<T, 1>(task, stream);
  });
}

}  // namespace assay::engine::cuda
