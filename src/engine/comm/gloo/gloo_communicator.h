// Ranks anywhere over TCP, by the gloo inside libtorch ("gloo").
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "engine/comm/base_communicator.h"
#include "engine/comm/comm_options.h"
#include "engine/comm/gloo/connections.h"
#include "engine/comm/lost_ranks.h"
#include "engine/comm/rendezvous.h"

namespace assay::engine {

/// What the groups over gloo of one job share in a process.
struct GlooJob {
  c10::intrusive_ptr<c10d::Store> store;
  std::shared_ptr<const LossBoard> losses;
  std::shared_ptr<MessageWaits> waits;
  std::shared_ptr<OpenConnections> connections;
  CommOptions options;
  uint64_t run = 0;                        ///< Rendezvous::run()
  std::string address = "";                ///< of this machine towards the others; where there are others
  std::shared_ptr<const void> place = {};  ///< where the ranks met, kept while the store is needed
};

/// Of ranks within one process.
std::shared_ptr<const GlooJob> make_gloo_job(c10::intrusive_ptr<c10d::Store> store, int rank,
                                             std::shared_ptr<const HostMap> hosts, const CommOptions& options,
                                             uint64_t run = 0);
/// Of the ranks that meet there.
std::shared_ptr<const GlooJob> make_gloo_job(const std::shared_ptr<Rendezvous>& rendezvous,
                                             std::shared_ptr<const HostMap> hosts, const CommOptions& options);

/// One rank's side of a group.
struct GlooMembers {
  int rank = 0;
  std::vector<int> world_ranks = {};
  std::string name = "";       ///< for errors; empty: all ranks
  std::string key = "";        ///< where members meet in the store: the group's own
  bool serves_larger = false;  ///< a larger group takes what fails here (ConnectionError) and finds out who is to blame

  int size() const { return static_cast<int>(world_ranks.size()); }
  /// The ranks, of the job, without which `call` cannot be done.
  std::vector<int> needed_for(const Call& call) const;
  /// "collective 7 of group shard (all_reduce of blocks.3)": for errors.
  std::string where(const Call& call) const;
  /// The line about what failed on this rank itself.
  std::string failed_line(const Call& call, const std::string& what) const;
};

/// Waits for all members. Throws CommError when they do not reach each other.
std::unique_ptr<BaseCommunicator> join_gloo(std::shared_ptr<const GlooJob> job, GlooMembers members,
                                            Execution execution);

/// All ranks of a job. Throws CommError when they do not reach each other, or when libtorch's gloo does not do what its
/// headers say (an all-reduce is tried first).
std::unique_ptr<Communicator> connect_gloo(std::shared_ptr<const GlooJob> job, int rank, int size);

/// `size` ranks within this process, for tests: each is used by a thread of its own.
std::vector<std::unique_ptr<Communicator>> make_gloo_thread_group(int size, const CommOptions& options = {});

}  // namespace assay::engine
