// What all ranks of a run must have alike, and must all be able to do: where one is at fault, all end and name it.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>
#include <string_view>

#include "engine/comm/communicator.h"
#include "engine/model/status_error.h"
#include "engine/shard/patient_work.h"
#include "job/tune_plan.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// A failure that all ranks throw, each with its line: nobody waits to be told of it.
class AgreedError : public StatusError {
 public:
  using StatusError::StatusError;
};

/// Throws StatusError on every rank of `world` (null: there is one) where not all carry out the same plan on the same
/// model and data: one line with the ranks that have something else. Paths and what is each machine's own (memory
/// where ranks decide nothing together by it, threads) may differ. Files are compared by their sizes and by up to a MiB
/// of each, spread evenly over it. All ranks call it together.
void check_same_run(const job::TunePlan& plan, Communicator* world, c10::Device device);
void check_same_run(const job::VitPlan& plan, Communicator* world, c10::Device device);

/// PatientWork over `world` (null: there is one). Where `work` throws on some ranks, each of the others throws an
/// AgreedError that names the first of these and its reason: "rank 1 could not read the model: ...".
void do_on_all_ranks(Communicator* world, c10::Device device, const std::string& what,
                     const std::function<void()>& work);

/// Throws as do_on_all_ranks() does where `work`, which is over, is not done; where ranks were given up, all throw one
/// that names these. All ranks call it together.
void throw_unless_done(const PatientWork& work, Communicator* world, const std::string& what);

/// Runs `work`. Where it fails on this rank alone, the ranks of `world` (null: there is one) end with its reason
/// instead of missing it in their next collective. `where` tells what this rank is doing. What ends all ranks alike
/// (AgreedError, a loss that is not finite) they find out by themselves. Throws what `work` does.
void tell_of_failure(Communicator* world, const std::function<std::string()>& where, const std::function<void()>& work);

}  // namespace assay::engine
