// Ranks of one machine over shared memory ("shm"): processes, or threads of one process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/file_descriptor.h"
#include "engine/comm/base_communicator.h"
#include "engine/comm/comm_options.h"
#include "engine/comm/shm/shared_segment.h"
#include "engine/comm/shm/shm_outside.h"

namespace assay::engine {

/// What a rank tells its peers, so that they can map its memory. Plain data.
struct ShmAddresses {
  int64_t pid = 0;
  int64_t job_rank = 0;
  SegmentAddress arena = {};
  SegmentAddress control = {};  ///< that of the machine's first rank counts
};

/// A rank's own segments, open for its peers. Must stay until every rank has connected; then it is closed, and what is
/// mapped has no name anywhere.
class ShmOffer {
 public:
  ShmOffer(int size, const CommOptions& options);

  ShmAddresses addresses(int job_rank) const;
  const FileDescriptor& arena() const { return arena_; }

 private:
  FileDescriptor arena_;
  FileDescriptor control_;
};

/// A group over shared memory as groups over several machines need it.
class ShmGroup : public BaseCommunicator {
 public:
  using BaseCommunicator::BaseCommunicator;

  /// split(), where the new group's collectives run as `execution` says. `serves_larger`: it is the part of a group
  /// over several machines, which takes its ConnectionErrors.
  virtual std::unique_ptr<ShmGroup> split_for(const std::vector<int>& members, std::string_view name,
                                              Execution execution, bool serves_larger) = 0;
  /// Ends the calls of this machine's ranks, of whatever group, with `error`, unless they have another failure.
  virtual void abandon(const CommError& error) = 0;
};

/// Rank `rank` of a group whose ranks' addresses are `all`, in order of rank; `outside` stays as long as the group
/// does. Throws CommError when a peer's memory cannot be mapped.
std::unique_ptr<ShmGroup> connect_shm(int rank, const std::vector<ShmAddresses>& all, const ShmOffer& own,
                                      const CommOptions& options, ShmOutside outside = {});

/// `size` ranks within this process, for tests: each is used by a thread of its own.
std::vector<std::unique_ptr<Communicator>> make_thread_group(int size, const CommOptions& options = {});

}  // namespace assay::engine
