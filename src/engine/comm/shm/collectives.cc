#include "engine/comm/shm/collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/comm/kernels/reduction.h"

namespace assay::engine {
namespace {

constexpr int64_t kAlignment = 64;

std::byte* bytes_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

int64_t rounded_up(int64_t value) {
  return (value + kAlignment - 1) / kAlignment * kAlignment;
}

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0 && to != from) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace

int64_t Tiling::length(int64_t s, int64_t t) const {
  const int64_t end = std::min(s * shard + std::min((t + 1) * tile, shard), total);
  return std::max<int64_t>(end - begin(s, t), 0);
}

ShmCollectives::ShmCollectives(int rank, int size, std::shared_ptr<ArenaSet> arenas, Meeting& meeting)
    : rank_(rank), size_(size), arenas_(std::move(arenas)), meeting_(meeting) {}

void ShmCollectives::run(const Call& call) {
  switch (call.kind) {
    case CallKind::kAllGather:
      return all_gather(call);
    case CallKind::kReduceScatter:
    case CallKind::kAllReduce:
      return reduce(call);
    case CallKind::kBroadcast:
      return broadcast(call);
    default:
      return open(call, {});
  }
}

std::byte* ShmCollectives::staging() {
  if (!staging_.defined()) {
    staging_ = arenas_->own->allocate(kShmStagingBytes, at::kByte);
  }
  return bytes_of(staging_);
}

ShmCollectives::Place ShmCollectives::place(const at::Tensor& buffer) {
  if (buffer.numel() == 0) {
    return {.offset = 0, .staged = false};
  }
  if (const auto offset = arenas_->own->offset_of(buffer.data_ptr())) {
    return {.offset = *offset, .staged = false};
  }
  return {.offset = *arenas_->own->offset_of(staging()), .staged = true};
}

void ShmCollectives::open(const Call& call, const Place& own) {
  Announcement announcement = announcement_of(call);
  announcement.offset = own.offset;
  announcement.staged = own.staged;
  meeting_.open(call, announcement);
}

Tiling ShmCollectives::settle(const Call& call, Tiling tiling) const {
  for (int peer = 0; peer < size_; ++peer) {
    if (meeting_.announced(peer, call).staged) {
      return tiling;
    }
  }
  tiling.tile = std::max<int64_t>(tiling.shard, 1);
  return tiling;
}

std::byte* ShmCollectives::peer_part(const Call& call, const Tiling& tiling, int peer, int64_t shard,
                                     int64_t tile) const {
  const Announcement& announced = meeting_.announced(peer, call);
  const int64_t within = announced.staged ? shard * tiling.tile : tiling.begin(shard, tile);
  return arenas_->base_of(meeting_.machine_rank(peer)) + announced.offset + within;
}

/// Peers copy each other's shards; what a rank announces is its shard, so that is shard 0 of a buffer of one shard.
void ShmCollectives::all_gather(const Call& call) {
  std::byte* full = bytes_of(call.full);
  std::byte* shard = bytes_of(call.shard);
  const auto shard_bytes = static_cast<int64_t>(call.shard.nbytes());
  Tiling tiling{.total = shard_bytes, .shard = shard_bytes, .tile = kShmStagingBytes};
  const Place own = place(call.shard);
  const auto stage = [&](int64_t tile) {
    if (own.staged) {
      copy_bytes(staging(), shard + tiling.begin(0, tile), tiling.length(0, tile));
    }
  };
  stage(0);
  open(call, own);
  tiling = settle(call, tiling);
  for (int64_t tile = 0; tile < tiling.tiles(); ++tile) {
    if (tile > 0) {
      stage(tile);
      meeting_.meet(call);
    }
    for (int step = 1; step < size_; ++step) {
      const int peer = (rank_ + step) % size_;
      copy_bytes(full + peer * shard_bytes + tiling.begin(0, tile), peer_part(call, tiling, peer, 0, tile),
                 tiling.length(0, tile));
    }
    meeting_.meet(call);
  }
  copy_bytes(full + rank_ * shard_bytes, shard, shard_bytes);
}

void ShmCollectives::broadcast(const Call& call) {
  std::byte* full = bytes_of(call.full);
  const auto bytes = static_cast<int64_t>(call.full.nbytes());
  const bool root = call.peer == rank_;
  Tiling tiling{.total = bytes, .shard = bytes, .tile = kShmStagingBytes};
  const Place own = root ? place(call.full) : Place{.offset = 0, .staged = false};
  const auto stage = [&](int64_t tile) {
    if (own.staged) {
      copy_bytes(staging(), full + tiling.begin(0, tile), tiling.length(0, tile));
    }
  };
  stage(0);
  open(call, own);
  tiling = settle(call, tiling);
  for (int64_t tile = 0; tile < tiling.tiles(); ++tile) {
    if (tile > 0) {
      stage(tile);
      meeting_.meet(call);
    }
    if (!root) {
      copy_bytes(full + tiling.begin(0, tile), peer_part(call, tiling, call.peer, 0, tile), tiling.length(0, tile));
    }
    meeting_.meet(call);
  }
}

void ShmCollectives::reduce(const Call& call) {
  const bool everywhere = call.kind == CallKind::kAllReduce;
  const auto total = static_cast<int64_t>(call.full.nbytes());
  const int64_t shard = everywhere ? rounded_up((total + size_ - 1) / size_) : total / size_;
  Tiling tiling{.total = total, .shard = shard, .tile = kShmStagingBytes / size_ / kAlignment * kAlignment};
  const Place own = place(call.full);
  if (own.staged) {
    copy_others(call, tiling, 0, /*to_staging=*/true);
  }
  open(call, own);
  tiling = settle(call, tiling);
  for (int64_t tile = 0; tile < tiling.tiles(); ++tile) {
    if (tile > 0) {
      if (own.staged) {
        copy_others(call, tiling, tile, /*to_staging=*/true);
      }
      meeting_.meet(call);
    }
    reduce_part(call, tiling, tile);
    meeting_.meet(call);
    if (own.staged && everywhere) {
      copy_others(call, tiling, tile, /*to_staging=*/false);
    }
  }
}

/// The parts of this rank's private buffer that other ranks combine, to its staging tile or back from it.
void ShmCollectives::copy_others(const Call& call, const Tiling& tiling, int64_t tile, bool to_staging) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) {
      std::byte* staged = staging() + peer * tiling.tile;
      std::byte* own = bytes_of(call.full) + tiling.begin(peer, tile);
      copy_bytes(to_staging ? staged : own, to_staging ? own : staged, tiling.length(peer, tile));
    }
  }
}

void ShmCollectives::reduce_part(const Call& call, const Tiling& tiling, int64_t tile) {
  const int64_t length = tiling.length(rank_, tile);
  if (length == 0) {
    return;
  }
  const void* sources[kMaxRanks];
  void* destinations[kMaxRanks];
  for (int peer = 0; peer < size_; ++peer) {
    std::byte* part =
        peer == rank_ ? bytes_of(call.full) + tiling.begin(rank_, tile) : peer_part(call, tiling, peer, rank_, tile);
    sources[peer] = part;
    destinations[peer] = part;
  }
  const bool everywhere = call.kind == CallKind::kAllReduce;
  if (!everywhere) {
    destinations[0] = bytes_of(call.shard) + tile * tiling.tile;
  }
  const Reduction reduction{.sources = sources,
                            .source_count = size_,
                            .destinations = destinations,
                            .destination_count = everywhere ? size_ : 1,
                            .scale = call.op == ReduceOp::kAverage ? 1.0 / size_ : 1.0,
                            .maximum = call.op == ReduceOp::kMax};
  engine::reduce(reduction, call.full.scalar_type(), length / static_cast<int64_t>(call.full.element_size()));
}

}  // namespace assay::engine
