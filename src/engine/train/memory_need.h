// Whether a run fits into the memory that it may use, by what was foretold of it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/comm/communicator.h"
#include "engine/train/causal_lm_forecast.h"
#include "job/event.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// Of the `ranks` of this machine, and what is free of it now.
job::MemoryNeed memory_need(const CausalLmForecast& forecast, int64_t ranks);

/// Why a run that is foretold so cannot fit into the plan's budget, or into what is free: one line with the parts of
/// the need, and what to do. Empty: it may fit. A forecast may be 5 % too high, so a run that needs less than that more
/// than there is gets its chance.
std::string why_it_cannot_fit(const job::TunePlan& plan, const CausalLmForecast& forecast, const job::MemoryNeed& need);

/// Ends the run on all ranks of `world` (null: there is one) when `why` is not empty on any of them, which the others
/// name with its reason. Throws CannotFit.
void refuse_together(const std::string& why, Communicator* world);

}  // namespace assay::engine
