// What of a plan must stay the same for a training to go on from a checkpoint.
#pragma once

#include <map>
#include <string>

#include "job/tune_plan.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// What is trained, and all that decides which rows a step has, by names that errors can say. The number of ranks, the
/// strategy, precision and learning rate are not among them. Reads the data's files. Throws StatusError.
std::map<std::string, std::string> settings_of(const job::TunePlan& plan);
std::map<std::string, std::string> settings_of(const job::VitPlan& plan);

}  // namespace assay::engine
