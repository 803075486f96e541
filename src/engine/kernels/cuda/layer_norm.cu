#include "engine/kernels/cuda/launch.cuh"
#include "engine/kernels/cuda/layer_norm_bodies.h"

namespace assay::engine::cuda {
namespace {

/// What a block may have without asking for more.
constexpr int64_t kSharedBytes = 48 << 10;

template <typename T, typename R, int kLanes>
__global__ void __launch_bounds__(kMaxThreads) layer_norm_forward_kernel(const __grid_constant__ LayerNormForward task) {
  Block block;
  layer_norm_forward_row<T, R, kLanes>(task, blockIdx.x, block);
}

/// Blocks take rows in turn. Sums for weight and bias are kept in shared memory where they fit, else in the block's
/// part of the result itself.
template <typename T, typename R, int kLanes>
__global__ void __launch_bounds__(kMaxThreads)
    layer_norm_backward_kernel(const __grid_constant__ LayerNormBackward task, bool in_shared) {
  extern __shared__ float shared_sums[];
  Block block;
  const int64_t count = 2 * task.width;
  float* part = task.grad_affine == nullptr ? nullptr : task.grad_affine + blockIdx.x * count;
  float* sums = in_shared ? shared_sums : part;
  if (sums != nullptr) {
    for (int64_t i = block.rank(); i < count; i += block.size()) {
      sums[i] = 0.0F;
    }
    __syncthreads();
  }
  for (int64_t row = blockIdx.x; row < task.rows; row += gridDim.x) {
    layer_norm_backward_row<T, R, kLanes>(task, row, sums, block);
  }
  if (in_shared) {
    __syncthreads();
    for (int64_t i = block.rank(); i < count; i += block.size()) {
      part[i] = sums[i];
    }
  }
}

template <typename T, typename R, int kLanes>
void launch_forward(const LayerNormForward& task, Stream stream) {
  layer_norm_forward_kernel<T, R, kLanes><<<task.rows, threads_for(task.width / kLanes), 0, stream>>>(task);
}

template <typename T, typename R, int kLanes>
void launch_backward(const LayerNormBackward& task, Stream stream) {
  const bool wants_affine = task.grad_affine != nullptr;
  const int64_t sums_bytes = 2 * task.width * static_cast<int64_t>(sizeof(float));
  const bool in_shared = wants_affine && sums_bytes <= kSharedBytes;
  const int64_t blocks = wants_affine ? task.parts : task.rows;
  layer_norm_backward_kernel<T, R, kLanes>
      <<<blocks, threads_for(task.width / kLanes), in_shared ? sums_bytes : 0, stream>>>(task, in_shared);
}

/// The residual stream is of the dtype T or float32.
template <typename R, typename T>
void forward_between(const LayerNormForward& task, Stream stream) {
  in_packs<T, R>(task) ? launch_forward<T, R, kLanesOf<T>>(task, stream) : launch_forward<T, R, 1>(task, stream);
}

template <typename R, typename T>
void backward_between(const LayerNormBackward& task, Stream stream) {
  in_packs<T, R>(task) ? launch_backward<T, R, kLanesOf<T>>(task, stream) : launch_backward<T, R, 1>(task, stream);
}

}  // namespace

void launch(const LayerNormForward& task, Dtype dtype, Dtype residual, Stream stream) {
  if (task.rows == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    residual == dtype ? forward_between<T, T>(task, stream) : forward_between<float, T>(task, stream);
  });
}

void launch(const LayerNormBackward& task, Dtype dtype, Dtype residual, Stream stream) {
  if (task.rows == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    residual == dtype ? backward_between<T, T>(task, stream) : backward_between<float, T>(task, stream);
  });
}

}  // namespace assay::engine::cuda
