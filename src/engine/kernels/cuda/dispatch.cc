#include <atomic>

#include "engine/kernels/cuda/ops.h"

namespace assay::engine::cuda {
namespace {

std::atomic<const CudaOps*> ops_on_cpu{nullptr};

const CudaOps* ops_on_cuda() {
#ifdef ASSAY_CUDA_KERNELS
  return &kCudaOps;
#else
  return nullptr;
#endif
}

}  // namespace

const CudaOps* ops_for(const at::Tensor& x) {
  const auto dtype = x.scalar_type();
  if (dtype != at::kFloat && dtype != at::kBFloat16 && dtype != at::kHalf) {
    return nullptr;
  }
  if (x.is_cuda()) {
    return ops_on_cuda();
  }
  return x.is_cpu() ? ops_on_cpu.load(std::memory_order_acquire) : nullptr;
}

void use_ops_on_cpu(const CudaOps* ops) {
  ops_on_cpu.store(ops, std::memory_order_release);
}

}  // namespace assay::engine::cuda
