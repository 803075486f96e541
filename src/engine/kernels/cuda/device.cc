#include "engine/kernels/cuda/device.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#ifdef ASSAY_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::engine {
namespace {

/// Of the counts that the allocator keeps: over its small and its large blocks together.
constexpr size_t kAllBlocks = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

/// Null until libtorch uses a CUDA device: asking for statistics earlier is an error.
c10::DeviceAllocator* cuda_allocator() {
  if (!at::hasCUDA()) {
    return nullptr;
  }
  c10::DeviceAllocator* allocator = c10::getDeviceAllocator(c10::kCUDA);
  return allocator->initialized() ? allocator : nullptr;
}

/// The device that was current when first asked for. Asking CUDA each time would raise the error of a failed kernel
/// again where somebody only wants to report how much memory was in use.
c10::DeviceIndex current_device() {
  static const c10::DeviceIndex index = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice().index();
  return index;
}

}  // namespace

std::optional<DeviceBytes> cuda_tensor_bytes() {
  c10::DeviceAllocator* allocator = cuda_allocator();
  if (allocator == nullptr) {
    return std::nullopt;
  }
  const auto stats = allocator->getDeviceStats(current_device());
  const auto bytes = stats.allocated_bytes[kAllBlocks];
  return DeviceBytes{.live = bytes.current, .peak = bytes.peak, .reserved_peak = stats.reserved_bytes[kAllBlocks].peak};
}

void reset_cuda_peak() {
  if (c10::DeviceAllocator* allocator = cuda_allocator(); allocator != nullptr) {
    allocator->resetPeakStats(current_device());
  }
}

void set_cuda_budget(int64_t bytes, c10::Device device) {
#ifdef ASSAY_WITH_CUDA
  at::globalContext().lazyInitDevice(c10::kCUDA);
  const auto total = static_cast<double>(c10::getDeviceAllocator(c10::kCUDA)->getMemoryInfo(device.index()).second);
  const double fraction = bytes > 0 ? std::min(1.0, static_cast<double>(bytes) / total) : 1.0;
  c10::cuda::CUDACachingAllocator::setMemoryFraction(fraction, device.index());
#else
  TORCH_CHECK(bytes == 0, "limiting the memory of ", device, " to ", bytes,
              " bytes needs a build against a CUDA libtorch: build one, or leave the memory budget out");
#endif
}

int compute_capability_major(c10::Device device) {
  int major = 0;
#ifdef ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    C10_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index()));
  }
#endif
  return major;
}

}  // namespace assay::engine
