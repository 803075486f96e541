#include "engine/kernels/cuda/launch.cuh"
#include "engine/kernels/cuda/optimizer_bodies.h"

namespace assay::engine::cuda {
namespace {

constexpr int kThreads = 256;
static_assert(sizeof(TensorList) + sizeof(UpdateScalars) <= 4096, "the arguments of a launch");

template <typename T, typename State, int kLanes>
__global__ void adamw_kernel(const __grid_constant__ TensorList list, const __grid_constant__ UpdateScalars scalars) {
  const int block = static_cast<int>(blockIdx.x);
  const int tensor = tensor_of_block(list, block);
  adamw<T, State, kLanes>(list.tensors[tensor], scalars, stretch_of_block(list, tensor, block), Block{});
}

template <typename T, int kLanes>
__global__ void sgd_kernel(const __grid_constant__ TensorList list, const __grid_constant__ UpdateScalars scalars) {
  const int block = static_cast<int>(blockIdx.x);
  const int tensor = tensor_of_block(list, block);
  sgd<T, kLanes>(list.tensors[tensor], scalars, stretch_of_block(list, tensor, block), Block{});
}

template <typename T, int kLanes>
__global__ void sum_of_squares_kernel(const __grid_constant__ TensorList list, double* sums) {
  const int block = static_cast<int>(blockIdx.x);
  const int tensor = tensor_of_block(list, block);
  const Block team;
  const float sum = sum_of_squares<T, kLanes>(list.tensors[tensor], stretch_of_block(list, tensor, block), team);
  if (threadIdx.x == 0) {
    sums[block] = sum;
  }
}

template <typename T, typename State>
void launch_adamw_of(const TensorList& list, const UpdateScalars& scalars, Stream stream) {
  constexpr int kLanes = kLanesOf<T>;
  if (in_packs<T, State>(list)) {
    adamw_kernel<T, State, kLanes><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
  } else {
    adamw_kernel<T, State, 1><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
  }
}

}  // namespace

void launch_adamw(const TensorList& list, const UpdateScalars& scalars, Dtype dtype, Dtype states, Stream stream) {
  if (blocks_of(list) == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    states == dtype ? launch_adamw_of<T, T>(list, scalars, stream) : launch_adamw_of<T, float>(list, scalars, stream);
  });
}

void launch_sgd(const TensorList& list, const UpdateScalars& scalars, Dtype dtype, Stream stream) {
  if (blocks_of(list) == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    if (in_packs<T, T>(list)) {
      sgd_kernel<T, kLanes><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
    } else {
      sgd_kernel<T, 1><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
    }
  });
}

void launch_sum_of_squares(const TensorList& list, double* sums, Dtype dtype, Stream stream) {
  if (blocks_of(list) == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    if (in_packs<T, T>(list)) {
      sum_of_squares_kernel<T, kLanes><<<blocks_of(list), kThreads, 0, stream>>>(list, sums);
    } else {
      sum_of_squares_kernel<T, 1><<<blocks_of(list), kThreads, 0, stream>>>(list, sums);
    }
  });
}

}  // namespace assay::engine::cuda
