// Tensor memory on the CPU: counted exactly, kept for reuse, and limited by a budget.
#pragma once

#include <cstdint>

namespace assay::engine {

/// Puts our allocator under libtorch. Call once, first thing in main(), before any tensor exists. Freed blocks are kept
/// for reuse (a fresh 80 MB output is otherwise mapped and page-faulted on every call); the numbers below count live
/// tensor bytes, never cached ones.
void InstallCountingAllocator();

/// Live tensor bytes beyond `bytes` make an allocation throw c10::OutOfMemoryError; 0: no limit.
void SetMemoryBudget(int64_t bytes);

/// Bytes of tensors alive now (oneDNN's scratch included; on CUDA the caching allocator's allocated bytes).
int64_t LiveTensorBytes();

/// Highest LiveTensorBytes() since the last ResetPeakTensorBytes() (or since the start).
int64_t PeakTensorBytes();
void ResetPeakTensorBytes();

}  // namespace assay::engine
