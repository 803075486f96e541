// CUDA devices: their memory as libtorch's caching allocator counts and limits it, and what they can do. Private to
// engine/kernels; in a build without CUDA there simply is no device.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace assay::engine {

struct DeviceBytes {
  int64_t live = 0;
  int64_t peak = 0;           ///< since the last reset_cuda_peak()
  int64_t reserved_peak = 0;  ///< the same of what the allocator took of the device, blocks kept for reuse included
};

/// Bytes of tensors on the process's CUDA device; none as long as the process uses no CUDA device. Never begins to use
/// one.
std::optional<DeviceBytes> cuda_tensor_bytes();

void reset_cuda_peak();

/// Limits what the allocator takes from `device`, blocks kept for reuse included, to `bytes`; 0 or more than the device
/// has: no limit. Beyond it an allocation gives back what is kept, and then throws c10::OutOfMemoryError.
void set_cuda_budget(int64_t bytes, c10::Device device);

/// The major number of the compute capability (8: Ampere, 9: Hopper); 0 for what is not a CUDA device.
int compute_capability_major(c10::Device device);

}  // namespace assay::engine
