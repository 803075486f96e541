#include "engine/kernels/cuda/elementwise_bodies.h"
#include "engine/kernels/cuda/gelu_bodies.h"
#include "engine/kernels/cuda/launch.cuh"

namespace assay::engine::cuda {
namespace {

template <typename T, int kLanes>
__global__ void gelu_forward_kernel(const __grid_constant__ GeluForward task) {
  gelu_forward<T, kLanes>(task, Grid{});
}

template <typename T, int kLanes>
__global__ void gelu_backward_kernel(const __grid_constant__ GeluBackward task) {
  gelu_backward<T, kLanes>(task, Grid{});
}

template <typename T, int kLanes>
__global__ void swiglu_forward_kernel(const __grid_constant__ SwigluForward task) {
  swiglu_forward<T, kLanes>(task, Grid{});
}

template <typename T, int kLanes>
__global__ void swiglu_backward_kernel(const __grid_constant__ SwigluBackward task) {
  swiglu_backward<T, kLanes>(task, Grid{});
}

template <typename T, int kLanes>
__global__ void add_scaled_kernel(const __grid_constant__ AddScaled task) {
  add_scaled<T, kLanes>(task, Grid{});
}

template <typename T, int kLanes>
__global__ void add_masked_kernel(const __grid_constant__ AddMasked task) {
  add_masked<T, kLanes>(task, Grid{});
}

template <typename T>
__global__ void split_kernel(const __grid_constant__ Split task) {
  split<T>(task, Grid{});
}

template <typename T>
__global__ void dequantize_kernel(const __grid_constant__ Dequantize task) {
  dequantize<T>(task, Grid{});
}

template <typename T>
__global__ void embedding_sums_kernel(const __grid_constant__ EmbeddingSums task) {
  embedding_sums<T>(task, Grid{});
}

__global__ void dropout_mask_kernel(const __grid_constant__ DropoutMaskTask task, int64_t counters) {
  dropout_mask(task, counters, Grid{});
}

/// A block to a token.
template <typename T, int kLanes>
__global__ void rotate_kernel(const __grid_constant__ Rotate task) {
  rotate_token<T, kLanes>(task, blockIdx.x, Block{});
}

/// Launches the variant for packs or the one for single elements.
template <typename T, typename Task, typename Kernel>
void launch_elements(const Task& task, Kernel packed, Kernel single, Stream stream) {
  if (task.count == 0) {
    return;
  }
  if (in_packs<T>(task)) {
    packed<<<blocks_for((task.count + kLanesOf<T> - 1) / kLanesOf<T>), kElementwiseThreads, 0, stream>>>(task);
  } else {
    single<<<blocks_for(task.count), kElementwiseThreads, 0, stream>>>(task);
  }
}

}  // namespace

void launch(const GeluForward& task, Dtype dtype, Stream stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_elements<T>(task, gelu_forward_kernel<T, kLanesOf<T>>, gelu_forward_kernel<T, 1>, stream);
  });
}

void launch(const GeluBackward& task, Dtype dtype, Stream stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_elements<T>(task, gelu_backward_kernel<T, kLanesOf<T>>, gelu_backward_kernel<T, 1>, stream);
  });
}

void launch(const SwigluForward& task, Dtype dtype, Stream stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_elements<T>(task, swiglu_forward_kernel<T, kLanesOf<T>>, swiglu_forward_kernel<T, 1>, stream);
  });
}

void launch(const SwigluBackward& task, Dtype dtype, Stream stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_elements<T>(task, swiglu_backward_kernel<T, kLanesOf<T>>, swiglu_backward_kernel<T, 1>, stream);
  });
}

void launch(const AddScaled& task, Dtype dtype, Stream stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_elements<T>(task, add_scaled_kernel<T, kLanesOf<T>>, add_scaled_kernel<T, 1>, stream);
  });
}

void launch(const AddMasked& task, Dtype dtype, Stream stream) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_elements<T>(task, add_masked_kernel<T, kLanesOf<T>>, add_masked_kernel<T, 1>, stream);
  });
}

void launch(const Split& task, Dtype dtype, Stream stream) {
  const int64_t count = task.rows * task.columns;
  if (count == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    split_kernel<decltype(zero)><<<blocks_for(count), kElementwiseThreads, 0, stream>>>(task);
  });
}

void launch(const Dequantize& task, Dtype dtype, Stream stream) {
  const int64_t count = task.inputs / 32 * task.outputs;
  if (count == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    dequantize_kernel<decltype(zero)><<<blocks_for(count), kElementwiseThreads, 0, stream>>>(task);
  });
}

void launch(const EmbeddingSums& task, Dtype dtype, Stream stream) {
  const int64_t count = task.count * task.width;
  if (count == 0) {
    return;
  }
  with_type(dtype, [&](auto zero) {
    embedding_sums_kernel<decltype(zero)><<<blocks_for(count), kElementwiseThreads, 0, stream>>>(task);
  });
}

void launch(const DropoutMaskTask& task, Stream stream) {
  const int64_t counters = counters_of_token(task);
  if (task.tokens * task.features > 0) {
    dropout_mask_kernel<<<blocks_for(task.tokens * counters), kElementwiseThreads, 0, stream>>>(task, counters);
  }
}

void launch(const Rotate& task, Dtype dtype, Stream stream) {
  if (task.tokens == 0) {
    return;
  }
  constexpr int kMostThreads = 256;
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kLanes = kLanesOf<T>;
    const int pairs = task.heads * task.half;
    if (in_packs<T>(task)) {
      rotate_kernel<T, kLanes><<<task.tokens, threads_for(pairs / kLanes, kMostThreads), 0, stream>>>(task);
    } else {
      rotate_kernel<T, 1><<<task.tokens, threads_for(pairs, kMostThreads), 0, stream>>>(task);
    }
  });
}

}  // namespace assay::engine::cuda
