// How the ranks of a group on one machine wait for each other, and what happens when one does not come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/comm_options.h"
#include "engine/comm/shm/control_block.h"
#include "engine/comm/shm/peer_watch.h"
#include "engine/comm/shm/shared_segment.h"
#include "engine/comm/shm/shm_outside.h"

namespace assay::engine {

/// What all groups of a job on this machine share in one process.
struct JobWatch {
  SharedMapping control;  ///< of the group of this machine's ranks; holds the failure record
  FailureRecord* failure;
  PeerWatch peers;
  CommOptions options;
  int spins;  ///< before a waiting rank goes to sleep
  ShmOutside outside;
};

/// Spinning helps where every rank has a core of its own, and takes a peer's time where not.
int spins_for(int ranks);

/// One rank's side of a group's control block. One thread at a time, but for the functions of messages.
class Meeting {
 public:
  /// `machine_ranks` are the members' ranks in the group of this machine's ranks. `serves_larger`: a group over several
  /// machines takes what is not settled here (ConnectionError), and finds out who is to blame.
  Meeting(ControlBlock block, int rank, std::vector<int> machine_ranks, std::string name,
          std::shared_ptr<const JobWatch> job, bool serves_larger);

  /// Publishes what this rank calls, waits until all have, and checks that they call the same.
  void open(const Call& call, const Announcement& own);
  /// What `rank` called; valid from open() until the next call.
  const Announcement& announced(int rank, const Call& call) const;
  /// A further meeting point within `call`: returns when all ranks have reached it.
  void meet(const Call& call);

  /// Raises `counter` to `value` and wakes who sleeps on it.
  static void raise(SharedCounter& counter, uint32_t value);
  /// Returns when `counter`, which `rank` raises, has reached `target`.
  void await(SharedCounter& counter, uint32_t target, int rank, const Call& call) const;

  Channel& channel(int from, int to) const { return block_.channel(from, to); }
  /// Throws the machine's failure, if it has one.
  void check_failure() const;
  /// Makes `text` the job's failure unless it has one, and throws that. `lost`: ranks of the job that are.
  [[noreturn]] void fail(const std::string& text, const std::vector<int>& lost = {}) const;
  /// Makes `error` the machine's failure unless it has one.
  void record(const CommError& error) const;
  /// Tells peers that this rank will come to no further meeting.
  void leave();
  int machine_rank(int rank) const { return machine_ranks_[static_cast<size_t>(rank)]; }
  int job_rank(int rank) const { return job_->peers.job_rank(machine_rank(rank)); }

 private:
  class Patience;
  struct Trouble;
  [[noreturn]] void lose(int rank, const Call& call, const Trouble& trouble) const;
  /// Of a failure of which nobody on this machine knows who is to blame: `line` says what was seen.
  [[noreturn]] void throw_unsettled(const std::string& line, const std::vector<int>& suspects,
                                    const std::string& where) const;
  std::string where(const Call& call) const;
  void check_same(const Call& call) const;

  ControlBlock block_;
  int rank_;
  std::vector<int> machine_ranks_;
  std::string name_;
  std::shared_ptr<const JobWatch> job_;
  bool serves_larger_;
  uint32_t phase_ = 0;
};

}  // namespace assay::engine
