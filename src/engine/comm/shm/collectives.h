// The collectives over shared memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/shm/arena.h"
#include "engine/comm/shm/meeting.h"

namespace assay::engine {

/// The tile that a rank allocates in each group when a private buffer first comes. Small enough for the ranks' tiles to
/// stay in the last-level cache, large enough to make meetings rare.
inline constexpr int64_t kShmStagingBytes = int64_t{4} << 20;

/// How the bytes of a buffer are cut into one shard a rank, and shards into tiles that go over one after the other.
struct Tiling {
  int64_t total;  ///< of the whole buffer
  int64_t shard;  ///< the last shards may be shorter, or empty
  int64_t tile;

  int64_t tiles() const { return shard <= tile ? 1 : (shard + tile - 1) / tile; }
  /// Where tile `t` of shard `s` begins in the whole, and how much there is of it.
  int64_t begin(int64_t s, int64_t t) const { return s * shard + t * tile; }
  int64_t length(int64_t s, int64_t t) const;
};

/// Runs collectives of one rank, one at a time. Each rank combines its own shard out of all ranks' memory and writes it
/// to wherever it belongs, so nothing is sent twice and every rank has the same bits. Buffers in the ranks' arenas are
/// used where they are; of private ones the peers' parts pass through a tile in the arena (half a copy on two ranks).
class ShmCollectives {
 public:
  ShmCollectives(int rank, int size, std::shared_ptr<ArenaSet> arenas, Meeting& meeting);

  void run(const Call& call);

 private:
  /// Where peers find this rank's buffer.
  struct Place {
    int64_t offset;
    bool staged;
  };

  void all_gather(const Call& call);
  void reduce(const Call& call);
  void broadcast(const Call& call);

  Place place(const at::Tensor& buffer);
  void open(const Call& call, const Place& own);
  /// Whole shards at once when no rank stages.
  Tiling settle(const Call& call, Tiling tiling) const;
  std::byte* peer_part(const Call& call, const Tiling& tiling, int peer, int64_t shard, int64_t tile) const;
  void reduce_part(const Call& call, const Tiling& tiling, int64_t tile);
  void copy_others(const Call& call, const Tiling& tiling, int64_t tile, bool to_staging);
  std::byte* staging();

  const int rank_;
  const int size_;
  std::shared_ptr<ArenaSet> arenas_;
  Meeting& meeting_;
  at::Tensor staging_;  ///< made when a private buffer first comes
};

}  // namespace assay::engine
