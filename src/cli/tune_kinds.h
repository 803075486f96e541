// The parts of `assay tune` that each kind of model has for itself: a file each, overloaded by its plan.
#pragma once

#include "base/status.h"
#include "cli/live_progress.h"
#include "cli/tune_options.h"
#include "job/plan.h"
#include "job/run_record.h"

namespace assay::cli {

/// Each declares the options of one kind. `options` outlives `app`.
void AddLanguageOptions(CLI::App& app, TuneOptions& options);
void AddVisionOptions(CLI::App& app, TuneOptions& options);

/// Resolves the model, makes the data ready and fills in what the worker needs. `plan` has the shared options.
Status CompletePlan(const TuneOptions& options, LiveProgress& progress, job::TunePlan& plan);
Status CompletePlan(const TuneOptions& options, LiveProgress& progress, job::VitPlan& plan);

/// What belongs beside the weights that a run saved.
Status CompleteSaved(const job::TunePlan& plan, const job::RunRecord& record);
inline Status CompleteSaved(const job::VitPlan&, const job::RunRecord&) {
  return Status::Ok();
}

}  // namespace assay::cli
