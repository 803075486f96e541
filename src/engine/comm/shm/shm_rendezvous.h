// How the ranks of a machine find each other's memory.
#pragma once

#include <memory>

#include "engine/comm/host_map.h"
#include "engine/comm/rendezvous.h"
#include "engine/comm/shm/shm_communicator.h"

namespace assay::engine {

/// The ranks of this rank's machine, in order. All ranks of the job call it together. Throws CommError when one does
/// not come, or when a peer's memory cannot be mapped.
std::unique_ptr<ShmGroup> connect_machine(Rendezvous& rendezvous, const HostMap& hosts, const CommOptions& options,
                                          ShmOutside outside);

}  // namespace assay::engine
