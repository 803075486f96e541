// Threads of the GPU as the teams that kernel bodies are written for, and the choices of a launch.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "engine/kernels/cuda/cuda_kernels.h"
#include "engine/kernels/cuda/launch_rules.h"

namespace assay::engine::cuda {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;
/// The threads of one block, whole warps.
class Block {
 public:
  __device__ int64_t rank() const { return threadIdx.x; }
  __device__ int64_t size() const { return blockDim.x; }
  __device__ float sum(float value) const {
    return combine(value, 0.0F, [](float a, float b) { return a + b; });
  }
  __device__ float max(float value) const {
    return combine(value, -INFINITY, [](float a, float b) { return a > b ? a : b; });
  }

 private:
  /// Every lane ends with the same bits: it adds the same pairs, only their sides differ.
  template <typename Operation>
  static __device__ float combine_warp(float value, Operation operation) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      value = operation(value, __shfl_xor_sync(0xffffffffU, value, distance));
    }
    return value;
  }

  template <typename Operation>
  static __device__ float combine(float value, float neutral, Operation operation) {
    __shared__ float of_warp[kMaxThreads / kWarp];
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    value = combine_warp(value, operation);
    // Somebody may still read what the last reduction left here.
    __syncthreads();
    if (lane == 0) {
      of_warp[threadIdx.x / kWarp] = value;
    }
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    return combine_warp(lane < warps ? of_warp[lane] : neutral, operation);
  }
};

/// All threads of a launch; they cannot combine values.
class Grid {
 public:
  __device__ int64_t rank() const { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
  __device__ int64_t size() const { return static_cast<int64_t>(gridDim.x) * blockDim.x; }
};

/// Calls body(T{}) with the type of `dtype`.
template <typename Body>
void with_type(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::kFloat32:
      return body(float{});
    case Dtype::kBfloat16:
      return body(__nv_bfloat16{});
    case Dtype::kFloat16:
      return body(__half{});
  }
}

/// Threads of a block whose work is `items` packs: whole warps, at most `most`.
inline int threads_for(int64_t items, int most = kMaxThreads) {
  const int64_t warps = (items + kWarp - 1) / kWarp;
  return static_cast<int>(std::clamp<int64_t>(warps * kWarp, kWarp, most));
}

/// Blocks of kElementwiseThreads for `items` packs; a thread takes several when there are more than fill the GPU.
constexpr int kElementwiseThreads = 256;
inline int blocks_for(int64_t items) {
  constexpr int64_t kMostBlocks = 8192;
  return static_cast<int>(std::min(kMostBlocks, (items + kElementwiseThreads - 1) / kElementwiseThreads));
}

}  // namespace assay::engine::cuda
