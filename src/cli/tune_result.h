// What `assay tune` prints at its end.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "job/plan.h"
#include "job/run_record.h"

namespace assay::cli {

/// One object. Of every kind of model: outcome, reason, plan; losses, grad_norms, step_seconds, learning_rates,
/// loss_scales (an entry a step), median_step_seconds (the first step left out), samples (rows or images, of all
/// ranks), max_rss_gib, peak_tensor_bytes; rank_steps, memory and collectives of all ranks. Of a language model also
/// its tokens, of a vision transformer its images_per_second and evaluations.
nlohmann::json TuneResultJson(const job::Plan& plan, const job::RunRecord& record);

/// The same for people; empty for a run that ended before its model was loaded.
std::string TuneResultTable(const job::Plan& plan, const job::RunRecord& record);

}  // namespace assay::cli
