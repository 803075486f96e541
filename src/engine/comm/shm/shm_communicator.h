// Ranks of one machine over shared memory ("shm"): processes, or threads of one process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/file_descriptor.h"
#include "engine/comm/comm_options.h"
#include "engine/comm/communicator.h"
#include "engine/comm/shm/shared_segment.h"

namespace assay::engine {

/// What a rank tells its peers, so that they can map its memory. Plain data.
struct ShmAddresses {
  int64_t pid = 0;
  SegmentAddress arena = {};
  SegmentAddress control = {};  ///< rank 0's counts
};

/// A rank's own segments, open for its peers. Must stay until every rank has connected; then it is closed, and what is
/// mapped has no name anywhere.
class ShmOffer {
 public:
  ShmOffer(int size, const CommOptions& options);

  ShmAddresses addresses() const;
  const FileDescriptor& arena() const { return arena_; }

 private:
  FileDescriptor arena_;
  FileDescriptor control_;
};

/// Rank `rank` of a group whose ranks' addresses are `all`, in order of rank; `place`, where they met, stays as long as
/// the group does. Throws CommError when a peer's memory cannot be mapped.
std::unique_ptr<Communicator> connect_shm(int rank, const std::vector<ShmAddresses>& all, const ShmOffer& own,
                                          const CommOptions& options, std::shared_ptr<const void> place = nullptr);

/// `size` ranks within this process, for tests: each is used by a thread of its own.
std::vector<std::unique_ptr<Communicator>> make_thread_group(int size, const CommOptions& options = {});

}  // namespace assay::engine
