// Tensor memory: counted, kept for reuse, and limited by a budget. On the CPU by an allocator of ours, exactly; on CUDA
// by libtorch's caching allocator.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace assay::engine {

/// Puts our allocator under libtorch. Call once, first thing in main(), before any tensor exists. Freed blocks are kept
/// for reuse (a fresh 80 MB output is otherwise mapped and page-faulted on every call); the numbers below count live
/// tensor bytes, never cached ones.
void InstallCountingAllocator();

/// Live tensor bytes on `device` beyond `bytes` make an allocation throw c10::OutOfMemoryError; 0: no limit. On CUDA
/// the limit is on what the caching allocator takes from the device, so fragments count too.
void SetMemoryBudget(int64_t bytes, c10::Device device = c10::kCPU);

/// Counts tensor memory of the CPU that another allocator hands out (segments shared with other processes): `bytes`
/// more, or fewer when negative. Throws c10::OutOfMemoryError, with nothing counted, when the budget is exceeded.
void ChargeTensorBytes(int64_t bytes);

/// Bytes of tensors alive now, oneDNN's scratch included. In a process that uses a CUDA device these and the peak below
/// are of tensors there alone, in the blocks that the caching allocator hands out (multiples of 512 bytes).
int64_t LiveTensorBytes();

/// Highest LiveTensorBytes() since the last ResetPeakTensorBytes() (or since the start).
int64_t PeakTensorBytes();
/// What the caching allocator took of the CUDA device at most since then, blocks kept for reuse included; 0 in a
/// process that uses none.
int64_t PeakReservedBytes();
void ResetPeakTensorBytes();

}  // namespace assay::engine
