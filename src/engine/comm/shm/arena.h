// The memory of one rank that all ranks map: tensors in it are reached by peers without a copy.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/comm/shm/shared_segment.h"
#include "engine/kernels/block_arena.h"

namespace assay::engine {

/// Cuts tensors from a rank's own segment. They keep it alive. Safe from several threads.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  explicit Arena(SharedMapping mapping);

  /// Counted as tensor memory; c10::OutOfMemoryError when the segment or the budget is exhausted.
  at::Tensor allocate(int64_t elements, at::ScalarType dtype);
  /// Where `data` lies in the segment; nothing when it lies elsewhere.
  std::optional<int64_t> offset_of(const void* data) const;
  std::byte* base() const { return mapping_.bytes().data(); }

 private:
  void* take(size_t bytes);
  void give(void* block, size_t bytes);

  SharedMapping mapping_;
  std::mutex mutex_;
  BlockArena blocks_;  // protected by mutex_
};

/// The arenas of all ranks of a machine as one rank sees them, by the ranks of the group that was connected first.
struct ArenaSet {
  std::shared_ptr<Arena> own;
  int own_rank = 0;
  std::vector<SharedMapping> peers;  ///< the own one is empty

  std::byte* base_of(int rank) const { return rank == own_rank ? own->base() : peers[rank].bytes().data(); }
};

/// Bytes of address space for one of `ranks` arenas: the machine's memory, where that many fit into a process.
int64_t default_arena_bytes(int ranks);

}  // namespace assay::engine
