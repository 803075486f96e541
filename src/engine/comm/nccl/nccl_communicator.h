// Ranks with a GPU each, by NCCL through c10d ("nccl").
#pragma once

#include <memory>

#include "engine/comm/comm_options.h"
#include "engine/comm/communicator.h"
#include "engine/comm/rendezvous.h"

namespace assay::engine {

/// Buffers are tensors of the current GPU, which the caller has chosen (use_device()). Throws CommError in builds
/// without NCCL.
std::unique_ptr<Communicator> connect_nccl(std::shared_ptr<Rendezvous> rendezvous, const CommOptions& options);

}  // namespace assay::engine
