// Where the buffers of a store come from.
#pragma once

#include <cstddef>

namespace assay::storage {

/// For programs whose buffers must be of a kind: pages that a GPU has pinned, so that it copies into them by itself,
/// or those of one NUMA node. Copies between two stores that have no budget lie on the heap. Its members may be called
/// by several threads at the same time, and must not use any store.
class BufferAllocator {
 public:
  virtual ~BufferAllocator() = default;
  /// Null: there is no more such memory, and the operation that wanted it ends with an error.
  virtual std::byte* Allocate(size_t bytes) = 0;
  /// What Allocate() gave for as many.
  virtual void Free(std::byte* memory, size_t bytes) = 0;
};

}  // namespace assay::storage
