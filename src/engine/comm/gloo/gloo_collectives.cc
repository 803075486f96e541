#include "engine/comm/gloo/gloo_collectives.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/comm/communicator.h"
#include "engine/comm/kernels/reduction.h"

namespace assay::engine {
namespace {

constexpr int kGreetingTag = 1;
constexpr int kContributionTag = 2;
constexpr int kResultTag = 3;

/// All greetings have one size, so that ranks that call different things still understand each other.
constexpr int64_t kGreetingBytes = 4096;
constexpr int64_t kPayloadBytes = kGreetingBytes - static_cast<int64_t>(sizeof(Announcement));

/// Tiles that are under way before the first of them is waited for.
constexpr int64_t kTilesAhead = 2;
/// Threads wake each other for every tile: those of a large part are larger, as long as enough of them overlap.
constexpr int64_t kOverlappingTiles = 16;
constexpr int64_t kTileBytes = int64_t{512} << 10;
constexpr int64_t kLargeTileBytes = int64_t{2} << 20;
/// Of all peers' tiles, and of one where there are many.
constexpr int64_t kTilesBytes = int64_t{8} << 20;
constexpr int64_t kLeastTileBytes = int64_t{64} << 10;

/// What one rank sends to one other of a collective that goes with the greetings.
int64_t message_bytes(const Call& call) {
  const bool by_parts = call.kind == CallKind::kAllGather || call.kind == CallKind::kReduceScatter;
  return by_parts ? static_cast<int64_t>(call.shard.nbytes()) : call.bytes();
}

bool is_small(const Call& call) {
  return message_bytes(call) <= kPayloadBytes;
}

/// Of the part of a large buffer that each of `ranks` combines, or has.
int64_t part_elements(const Call& call, int ranks) {
  const bool whole = call.kind == CallKind::kBroadcast || call.kind == CallKind::kAllReduce;
  return whole ? (call.full.numel() + ranks - 1) / ranks : call.shard.numel();
}

int64_t tile_elements(const Call& call, int ranks) {
  const auto element = static_cast<int64_t>(call.full.element_size());
  const int64_t part = part_elements(call, ranks);
  const int64_t bytes = std::min(std::clamp(part * element / kOverlappingTiles, kTileBytes, kLargeTileBytes),
                                 std::max(kTilesBytes / ranks, kLeastTileBytes));
  return std::min(bytes / element, part);
}

Reduction reduction_of(const Call& call, const std::vector<const void*>& sources, void** destination) {
  const auto count = static_cast<int>(sources.size());
  return {.sources = sources.data(),
          .source_count = count,
          .destinations = destination,
          .destination_count = 1,
          .scale = call.op == ReduceOp::kAverage ? 1.0 / count : 1.0,
          .maximum = call.op == ReduceOp::kMax};
}

at::Tensor part_of_tile(const at::Tensor& part, int64_t tile_length, int64_t tile) {
  const int64_t first = std::min(tile * tile_length, part.numel());
  return part.narrow(0, first, std::min(tile_length, part.numel() - first));
}

void copy_if_elsewhere(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

at::Tensor Parts::of(int rank) const {
  const int64_t begin = std::min(rank * length, full.numel());
  return full.narrow(0, begin, std::min(length, full.numel() - begin));
}

/// A large collective: what goes from whom to whom, and in which tiles.
struct GlooCollectives::Exchange {
  const Call& call;
  Parts parts;
  at::Tensor own;  ///< where this rank's part belongs
  bool reduces;
  bool gathers;
  std::optional<int> root;  ///< of a broadcast: it gives every rank a part, which that gives to the others
  int64_t tile;             ///< elements

  int64_t tiles() const { return (parts.length + tile - 1) / tile; }
  /// Whether a rank's part comes from others before it goes to others.
  bool collects() const { return reduces || root; }
  bool contributes(int rank) const { return reduces || rank == root; }
  bool takes_results(int rank) const { return gathers && rank != root; }
};

GlooCollectives::GlooCollectives(GlooBackend gloo, MessageWaits& waits, uint64_t run, int rank,
                                 std::vector<int> world_ranks, std::string name)
    : gloo_(std::move(gloo)),
      waits_(waits),
      run_(run),
      rank_(rank),
      world_ranks_(std::move(world_ranks)),
      name_(std::move(name)) {
  static_assert(sizeof(Announcement) < kGreetingBytes);
  sent_ = at::zeros({size(), kGreetingBytes}, at::kByte);
  received_ = at::zeros({size(), kGreetingBytes}, at::kByte);
  staging_ = at::empty({0}, at::kByte);
}

int64_t GlooCollectives::greeting_bytes(int ranks) {
  return 2 * ranks * kGreetingBytes;
}

int64_t GlooCollectives::staging_bytes(const Call& call, int ranks) {
  const bool stages = call.reduces() && !is_small(call);
  return stages
             ? (kTilesAhead + 1) * ranks * tile_elements(call, ranks) * static_cast<int64_t>(call.full.element_size())
             : 0;
}

void GlooCollectives::run(const Call& call) {
  const bool small = is_small(call);
  greet(call, small);
  check_same();
  if (small) {
    return take_payloads(call);
  }
  run_tiles(exchange_of(call));
}

void GlooCollectives::greet(const Call& call, bool small) {
  Announcement own = announcement_of(call);
  own.run = run_;
  Works works;
  for (int step = 1; step < size(); ++step) {
    const int from = (rank_ + size() - step) % size();
    receive_from(from, received_[from], kGreetingTag, works);
  }
  for (int step = 1; step < size(); ++step) {
    const int to = (rank_ + step) % size();
    std::memcpy(sent_[to].data_ptr(), &own, sizeof(own));
    if (small) {
      put_payload(call, to, sent_[to]);
    }
    send_to(to, sent_[to], kGreetingTag, works);
  }
  std::memcpy(received_[rank_].data_ptr(), &own, sizeof(own));
  wait_for(works);
}

void GlooCollectives::put_payload(const Call& call, int peer, at::Tensor greeting) const {
  if (call.kind == CallKind::kBarrier || (call.kind == CallKind::kBroadcast && call.peer != rank_)) {
    return;
  }
  at::Tensor part = call.full;
  if (call.kind == CallKind::kAllGather) {
    part = call.shard;
  } else if (call.kind == CallKind::kReduceScatter) {
    part = Parts{.full = call.full, .length = call.shard.numel()}.of(peer);
  }
  std::memcpy(static_cast<std::byte*>(greeting.data_ptr()) + sizeof(Announcement), part.data_ptr(), part.nbytes());
}

void GlooCollectives::check_same() const {
  const auto announced = [&](int rank) {
    Announcement announcement;
    std::memcpy(&announcement, received_[rank].data_ptr(), sizeof(announcement));
    return announcement;
  };
  const Announcement own = announced(rank_);
  for (int rank = 0; rank < size(); ++rank) {
    check_same_run(own, announced(rank), world_ranks_[static_cast<size_t>(rank)]);
  }
  const Announcement first = announced(0);
  for (int rank = 1; rank < size(); ++rank) {
    if (const Announcement other = announced(rank); !same_call(first, other)) {
      throw CommError(describe_mismatch(name_, world_ranks_[0], first, world_ranks_[static_cast<size_t>(rank)], other));
    }
  }
}

void* GlooCollectives::payload_of(int peer) const {
  return static_cast<std::byte*>(received_[peer].data_ptr()) + sizeof(Announcement);
}

void GlooCollectives::take_payloads(const Call& call) {
  if (call.kind == CallKind::kBarrier || call.full.numel() == 0) {
    return;
  }
  if (call.kind == CallKind::kBroadcast) {
    copy_if_elsewhere(call.full.data_ptr(), call.peer == rank_ ? call.full.data_ptr() : payload_of(call.peer),
                      call.full.nbytes());
    return;
  }
  const Parts parts{.full = call.full, .length = call.shard.defined() ? call.shard.numel() : call.full.numel()};
  if (call.kind == CallKind::kAllGather) {
    for (int peer = 0; peer < size(); ++peer) {
      copy_if_elsewhere(parts.of(peer).data_ptr(), peer == rank_ ? call.shard.data_ptr() : payload_of(peer),
                        call.shard.nbytes());
    }
    return;
  }
  const bool scatters = call.kind == CallKind::kReduceScatter;
  const at::Tensor own = scatters ? parts.of(rank_) : call.full;
  void* destination = scatters ? call.shard.data_ptr() : call.full.data_ptr();
  std::vector<const void*> sources;
  for (int peer = 0; peer < size(); ++peer) {
    sources.push_back(peer == rank_ ? own.data_ptr() : payload_of(peer));
  }
  reduce(reduction_of(call, sources, &destination), call.full.scalar_type(), own.numel());
}

GlooCollectives::Exchange GlooCollectives::exchange_of(const Call& call) const {
  const bool broadcasts = call.kind == CallKind::kBroadcast;
  const Parts parts{.full = call.full, .length = part_elements(call, size())};
  return {.call = call,
          .parts = parts,
          .own = call.kind == CallKind::kReduceScatter ? call.shard : parts.of(rank_),
          .reduces = call.reduces(),
          .gathers = call.kind != CallKind::kReduceScatter,
          .root = broadcasts ? std::optional(call.peer) : std::nullopt,
          .tile = tile_elements(call, size())};
}

/// Contributions to a tile are sent kTilesAhead before they are combined, and its result as long before it must be
/// everywhere: while this rank combines one tile, others travel.
void GlooCollectives::run_tiles(const Exchange& exchange) {
  if (!exchange.collects()) {
    copy_if_elsewhere(exchange.own.data_ptr(), exchange.call.shard.data_ptr(), exchange.own.nbytes());
  }
  const int64_t tiles = exchange.tiles();
  std::vector<Works> contributions(static_cast<size_t>(tiles));
  std::vector<Works> results(static_cast<size_t>(tiles));
  for (int64_t step = 0; step < tiles + 2 * kTilesAhead; ++step) {
    const int64_t combined = exchange.collects() ? step - kTilesAhead : step;
    const int64_t over = combined - kTilesAhead;
    if (exchange.collects() && step < tiles) {
      start_contributions(exchange, step, contributions[static_cast<size_t>(step)]);
    }
    if (combined >= 0 && combined < tiles) {
      wait_for(contributions[static_cast<size_t>(combined)]);
      combine(exchange, combined);
      start_results(exchange, combined, results[static_cast<size_t>(combined)]);
    }
    if (over >= 0 && over < tiles) {
      wait_for(results[static_cast<size_t>(over)]);
    }
  }
}

/// Where a peer's contribution to this rank's part of a tile goes: that of a broadcast is the result.
at::Tensor GlooCollectives::place_of_contribution(const Exchange& exchange, int64_t tile, int peer) {
  if (!exchange.reduces) {
    return part_of_tile(exchange.own, exchange.tile, tile);
  }
  const auto tile_bytes = exchange.tile * static_cast<int64_t>(exchange.call.full.element_size());
  if (const int64_t needed = staging_bytes(exchange.call, size()); staging_.numel() < needed) {
    staging_ = at::empty({needed}, at::kByte);
  }
  const int64_t bytes = static_cast<int64_t>(part_of_tile(exchange.parts.of(rank_), exchange.tile, tile).nbytes());
  const int64_t place = (tile % (kTilesAhead + 1)) * size() + peer;
  return staging_.narrow(0, place * tile_bytes, bytes);
}

void GlooCollectives::start_contributions(const Exchange& exchange, int64_t tile, Works& works) {
  for (int step = 1; step < size(); ++step) {
    const int from = (rank_ + size() - step) % size();
    if (exchange.contributes(from)) {
      receive_from(from, place_of_contribution(exchange, tile, from), kContributionTag, works);
    }
  }
  for (int step = 1; step < size() && exchange.contributes(rank_); ++step) {
    const int to = (rank_ + step) % size();
    send_to(to, part_of_tile(exchange.parts.of(to), exchange.tile, tile), kContributionTag, works);
  }
}

void GlooCollectives::combine(const Exchange& exchange, int64_t tile) {
  const at::Tensor mine = part_of_tile(exchange.parts.of(rank_), exchange.tile, tile);
  if (!exchange.reduces || mine.numel() == 0) {
    return;
  }
  const int64_t tile_bytes = exchange.tile * static_cast<int64_t>(mine.element_size());
  std::vector<const void*> sources;
  for (int peer = 0; peer < size(); ++peer) {
    const int64_t place = (tile % (kTilesAhead + 1)) * size() + peer;
    sources.push_back(peer == rank_ ? mine.data_ptr()
                                    : static_cast<std::byte*>(staging_.data_ptr()) + place * tile_bytes);
  }
  void* destination = part_of_tile(exchange.own, exchange.tile, tile).data_ptr();
  reduce(reduction_of(exchange.call, sources, &destination), mine.scalar_type(), mine.numel());
}

void GlooCollectives::start_results(const Exchange& exchange, int64_t tile, Works& works) {
  for (int step = 1; step < size() && exchange.takes_results(rank_); ++step) {
    const int from = (rank_ + size() - step) % size();
    receive_from(from, part_of_tile(exchange.parts.of(from), exchange.tile, tile), kResultTag, works);
  }
  for (int step = 1; step < size(); ++step) {
    if (const int to = (rank_ + step) % size(); exchange.takes_results(to)) {
      send_to(to, part_of_tile(exchange.own, exchange.tile, tile), kResultTag, works);
    }
  }
}

void GlooCollectives::wait_for(Works& works) {
  for (const auto& [peer, work] : works) {
    waits_.wait(gloo_, peer, *work);
  }
  works.clear();
}

void GlooCollectives::send_to(int peer, at::Tensor tensor, int tag, Works& works) {
  if (tensor.numel() > 0) {
    std::vector<at::Tensor> buffers{std::move(tensor)};
    works.emplace_back(peer, with_peer(peer, [&] { return gloo_->send(buffers, peer, tag); }));
  }
}

void GlooCollectives::receive_from(int peer, at::Tensor tensor, int tag, Works& works) {
  if (tensor.numel() > 0) {
    std::vector<at::Tensor> buffers{std::move(tensor)};
    works.emplace_back(peer, with_peer(peer, [&] { return gloo_->recv(buffers, peer, tag); }));
  }
}

}  // namespace assay::engine
