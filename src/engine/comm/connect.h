// From a rank's environment to its communicator.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/comm/comm_options.h"
#include "engine/comm/communicator.h"
#include "engine/comm/rank_environment.h"

namespace assay::engine {

/// The group of all ranks. `backend`: "shm" (ranks of one machine), "gloo", "shm+gloo" (the one within machines, the
/// other between them), "nccl" (builds with CUDA and NCCL), or "auto": "self" for one rank, "shm" where all ranks are
/// on one machine, "gloo" where each is on one of its own, else "shm+gloo". Every rank calls it once. Throws CommError
/// when the ranks do not find each other, or the backend is not one that can be had here. Over several ranks the
/// process ignores SIGPIPE from then on: a lost rank is an error of those that wait for it, not their silent end.
std::unique_ptr<Communicator> connect_ranks(const RankEnvironment& environment, std::string_view backend,
                                            const CommOptions& options = {});

/// `options` with what the environment variables ASSAY_COMM_START_TIMEOUT, ASSAY_COMM_TIMEOUT,
/// ASSAY_COMM_STOPPED_TIMEOUT (seconds) and ASSAY_COMM_THREAD (0, 1) ask for. An error names the variable.
Result<CommOptions> read_comm_options(CommOptions options = {});

}  // namespace assay::engine
