// What a rank does before it loads anything: which one it is, where it computes, with whom.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine/comm/communicator.h"
#include "engine/comm/rank_environment.h"
#include "job/parallel_plan.h"

namespace assay::engine {

/// This rank's place, out of its environment. Throws StatusError when that is wrong, or when it has another number of
/// ranks than the plan.
RankEnvironment environment_of(const job::ParallelPlan& plan);

/// The device for `auto`, `cpu` or `cuda`: the GPU of this rank's place on its machine, made current, where it is one.
/// Throws StatusError as select_device() does.
c10::Device select_rank_device(const std::string& device, const RankEnvironment& environment);

/// Uses `threads` CPU threads; 0: as many as OMP_NUM_THREADS says, or without it this rank's share of those that the
/// process may use.
void set_rank_threads(int64_t threads, const RankEnvironment& environment);

/// Meets the other ranks. Throws StatusError for wrong settings, CommError when they do not come.
std::unique_ptr<Communicator> join_ranks(const job::ParallelPlan& plan, const RankEnvironment& environment,
                                         c10::Device device);

/// Groups of as many ranks as this one's, started as if each had a machine of its own, that share this one: 1 where
/// they do not. All ranks of `world` (null: there is one) call it together. Throws CommError.
int64_t groups_on_machine(Communicator* world, const RankEnvironment& environment);

}  // namespace assay::engine
