// What the operations over tensors share when they launch kernels.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "engine/kernels/cuda/cuda_kernels.h"

namespace assay::engine::cuda {

inline Dtype dtype_of(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return Dtype::kFloat32;
    case at::kBFloat16:
      return Dtype::kBfloat16;
    case at::kHalf:
      return Dtype::kFloat16;
    default:
      TORCH_CHECK(false, "no CUDA kernels for tensors of ", x.scalar_type(), ": use float32, bfloat16 or float16");
  }
}

/// libtorch's current stream on the device of `x`. On the CPU, where a test runs the kernels' bodies, there is none.
inline Stream stream_of(const at::Tensor& x) {
  if (!x.is_cuda()) {
    return nullptr;
  }
  return static_cast<Stream>(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(x.device()).native_handle());
}

/// Runs body(stream) with the device of `x` current, and reports a refused launch.
template <typename Body>
void on_stream_of(const at::Tensor& x, const Body& body) {
  const c10::DeviceGuard guard(x.device());
  body(stream_of(x));
  check_launches();
}

template <typename Task>
void launch_on(const at::Tensor& x, const Task& task) {
  on_stream_of(x, [&](Stream stream) { launch(task, dtype_of(x), stream); });
}

}  // namespace assay::engine::cuda
