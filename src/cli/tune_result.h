// What `assay tune` prints at its end.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "job/run_record.h"
#include "job/tune_plan.h"

namespace assay::cli {

/// One object: losses, grad_norms, step_seconds, learning_rates (an entry a step), real_tokens_per_second (mean real
/// tokens of a step over its median time, the first step left out of the median), real_tokens, padded_tokens (padding
/// that a right-padding collator would have added), supervised_tokens, max_rss_gib, peak_tensor_bytes, outcome, reason.
nlohmann::json TuneResultJson(const job::TunePlan& plan, const job::RunRecord& record);

/// The same for people; empty for a run that ended before its model was loaded.
std::string TuneResultTable(const job::TunePlan& plan, const job::RunRecord& record);

}  // namespace assay::cli
