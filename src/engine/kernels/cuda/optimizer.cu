#include "engine/kernels/cuda/launch.cuh"
#include "engine/kernels/cuda/optimizer_bodies.h"

namespace assay::engine::cuda {
namespace {

constexpr int kThreads = 256;
static_assert(sizeof(TensorList) + sizeof(UpdateScalars) <= 4096, "the arguments of a launch");

template <typename Types, int kLanes>
__global__ void adamw_kernel(const __grid_constant__ TensorList list, const __grid_constant__ UpdateScalars scalars) {
  const int block = static_cast<int>(blockIdx.x);
  const int tensor = tensor_of_block(list, block);
  adamw<Types, kLanes>(list.tensors[tensor], scalars, stretch_of_block(list, tensor, block), Block{});
}

template <typename T, int kLanes>
__global__ void sgd_kernel(const __grid_constant__ TensorList list, const __grid_constant__ UpdateScalars scalars) {
  const int block = static_cast<int>(blockIdx.x);
  const int tensor = tensor_of_block(list, block);
  sgd<T, kLanes>(list.tensors[tensor], scalars, stretch_of_block(list, tensor, block), Block{});
}

template <typename T, int kLanes>
__global__ void gradient_sums_kernel(const __grid_constant__ TensorList list, double* sums) {
  const int block = static_cast<int>(blockIdx.x);
  const int tensor = tensor_of_block(list, block);
  const Block team;
  const BlockSums of_block =
      gradient_sums<T, kLanes>(list.tensors[tensor], stretch_of_block(list, tensor, block), team);
  if (threadIdx.x == 0) {
    sums[2 * block] = of_block.squares;
    sums[2 * block + 1] = of_block.non_finite;
  }
}

template <typename Types>
void launch_adamw_of(const TensorList& list, const UpdateScalars& scalars, Stream stream) {
  if (in_packs<Types>(list)) {
    adamw_kernel<Types, Types::kLanes><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
  } else {
    adamw_kernel<Types, 1><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
  }
}

}  // namespace

void launch_adamw(const TensorList& list, const UpdateScalars& scalars, const AdamwDtypes& dtypes, Stream stream) {
  if (blocks_of(list) == 0) {
    return;
  }
  with_type(dtypes.copy, [&](auto zero) {
    with_update_types<decltype(zero)>(dtypes,
                                      [&](auto types) { launch_adamw_of<decltype(types)>(list, scalars, stream); });
  });
}

void launch_sgd(const TensorList& list, const UpdateScalars& scalars, Dtype dtype, Stream stream) {
  if (blocks_of(list) == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    if (in_packs<UpdateTypes<T, T, T, T>>(list)) {
      sgd_kernel<T, kLanes><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
    } else {
      sgd_kernel<T, 1><<<blocks_of(list), kThreads, 0, stream>>>(list, scalars);
    }
  });
}

void launch_gradient_sums(const TensorList& list, double* sums, Dtype dtype, Stream stream) {
  if (blocks_of(list) == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    if (in_packs<UpdateTypes<T, T, T, T>>(list)) {
      gradient_sums_kernel<T, kLanes><<<blocks_of(list), kThreads, 0, stream>>>(list, sums);
    } else {
      gradient_sums_kernel<T, 1><<<blocks_of(list), kThreads, 0, stream>>>(list, sums);
    }
  });
}

}  // namespace assay::engine::cuda
