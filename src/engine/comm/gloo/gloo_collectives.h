// The collectives over messages between all pairs of ranks.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/announcement.h"
#include "engine/comm/call.h"
#include "engine/comm/gloo/connections.h"

namespace assay::engine {

/// A buffer cut into one part a rank; the last parts may be shorter, or empty.
struct Parts {
  at::Tensor full;
  int64_t length;

  at::Tensor of(int rank) const;
};

/// Runs collectives of one rank, one at a time. Each begins with a greeting from every rank to every other, which says
/// what it calls and brings along what is small; so a small collective is over when the greetings are. Of large ones
/// every rank combines its own part, in order of rank as over shared memory, and tiles follow each other closely enough
/// to lie in the processor's cache all the way.
class GlooCollectives {
 public:
  /// `run`: Rendezvous::run(). `world_ranks` and `name` are for errors. `waits` must live as long.
  GlooCollectives(GlooBackend gloo, MessageWaits& waits, uint64_t run, int rank, std::vector<int> world_ranks,
                  std::string name);

  /// What a rank of `ranks` keeps for the messages of all collectives, and beyond for those of `call`.
  static int64_t greeting_bytes(int ranks);
  static int64_t staging_bytes(const Call& call, int ranks);

  /// Throws CommError when the ranks call different things, PeerFailure, and what c10d throws.
  void run(const Call& call);

 private:
  using Works = std::vector<std::pair<int, c10::intrusive_ptr<c10d::Work>>>;  ///< with the peer of each
  struct Exchange;

  void greet(const Call& call, bool small);
  void put_payload(const Call& call, int peer, at::Tensor greeting) const;
  void check_same() const;
  void take_payloads(const Call& call);
  void* payload_of(int peer) const;

  Exchange exchange_of(const Call& call) const;
  void run_tiles(const Exchange& exchange);
  at::Tensor place_of_contribution(const Exchange& exchange, int64_t tile, int peer);
  void start_contributions(const Exchange& exchange, int64_t tile, Works& works);
  void combine(const Exchange& exchange, int64_t tile);
  void start_results(const Exchange& exchange, int64_t tile, Works& works);

  int size() const { return static_cast<int>(world_ranks_.size()); }
  void send_to(int peer, at::Tensor tensor, int tag, Works& works);
  void receive_from(int peer, at::Tensor tensor, int tag, Works& works);

  void wait_for(Works& works);

  GlooBackend gloo_;
  MessageWaits& waits_;
  const uint64_t run_;
  const int rank_;
  std::vector<int> world_ranks_;
  std::string name_;
  at::Tensor sent_;      ///< greetings, by peer
  at::Tensor received_;  ///< greetings, by peer
  at::Tensor staging_;   ///< peers' contributions to this rank's part, by tile under way and peer; in bytes
};

}  // namespace assay::engine
