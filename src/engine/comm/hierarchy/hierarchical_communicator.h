// Ranks of several machines: shared memory within each, gloo between them ("shm+gloo").
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/comm_options.h"
#include "engine/comm/communicator.h"
#include "engine/comm/host_map.h"
#include "engine/comm/rendezvous.h"

namespace assay::engine {

/// All ranks of a job on several machines. A group split from it is over shared memory alone where its members share a
/// machine, over gloo alone where no two of them do, and otherwise over both. Throws CommError when the ranks do not
/// reach each other.
std::unique_ptr<Communicator> connect_hierarchical(std::shared_ptr<Rendezvous> rendezvous,
                                                   std::shared_ptr<const HostMap> hosts, const CommOptions& options);

/// One rank for each of `machine_of` within this process, as if it were on that machine, for tests: each is used by a
/// thread of its own.
std::vector<std::unique_ptr<Communicator>> make_hierarchical_thread_group(const std::vector<int>& machine_of,
                                                                          const CommOptions& options = {});

}  // namespace assay::engine
