// Ranks anywhere over TCP, by the gloo inside libtorch ("gloo").
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <vector>

#include "engine/comm/comm_options.h"
#include "engine/comm/communicator.h"
#include "engine/comm/rendezvous.h"

namespace assay::engine {

/// Throws CommError when the ranks do not reach each other, or when libtorch's gloo does not do what its headers say
/// (an all-reduce is tried first).
std::unique_ptr<Communicator> connect_gloo(std::shared_ptr<Rendezvous> rendezvous, const CommOptions& options);

/// `size` ranks within this process, for tests: each is used by a thread of its own.
std::vector<std::unique_ptr<Communicator>> make_gloo_thread_group(int size, const CommOptions& options = {});

}  // namespace assay::engine
