// Tells whether the processes of other ranks still live.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace assay::engine {

enum class PeerState { kAlive, kStopped, kEnded };

/// Processes of this machine. Immutable after construction.
class PeerWatch {
 public:
  /// One process id a rank of this machine, and what the job calls it; our own id means a thread of this process, which
  /// is always alive.
  PeerWatch(std::vector<pid_t> pids, std::vector<int> job_ranks);

  pid_t pid(int rank) const { return pids_[static_cast<size_t>(rank)]; }
  int job_rank(int rank) const { return job_ranks_[static_cast<size_t>(rank)]; }
  PeerState state(int rank) const;
  /// "rank 2 (process 4711)"
  std::string name(int rank) const;

 private:
  std::vector<pid_t> pids_;
  std::vector<int> job_ranks_;
  std::vector<FileDescriptor> handles_;  ///< pidfds: a reused process id is not taken for the peer
};

}  // namespace assay::engine
