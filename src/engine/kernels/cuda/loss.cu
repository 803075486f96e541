#include "engine/kernels/cuda/launch.cuh"
#include "engine/kernels/cuda/loss_bodies.h"

namespace assay::engine::cuda {
namespace {

/// A block to a row.
template <typename T>
__global__ void __launch_bounds__(kMaxThreads) cross_entropy_kernel(const __grid_constant__ CrossEntropy task) {
  Block block;
  cross_entropy_row<T, kLanesOf<T>>(task, blockIdx.x, block);
}

}  // namespace

void launch(const CrossEntropy& task, Dtype dtype, Stream stream) {
  if (task.rows == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    cross_entropy_kernel<T><<<task.rows, threads_for(task.width / kLanesOf<T>), 0, stream>>>(task);
  });
}

}  // namespace assay::engine::cuda
