// The series that say what each rank of a run did when, by name: what experiments keep and the page's lanes show.
//
// Of every rank "rankN.step_began_s" (seconds since the worker was started) and "rankN.step_seconds", by step, and for
// each phase "rankN.phase.NAME" in seconds, which add up to the step but for what is in no phase. Of the run
// "span.NAME", from and to of each time that it did something outside of steps: load, evaluation, save.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "experiment/experiment.h"
#include "job/run_record.h"

namespace assay::experiment {

std::string StepBeganSeries(int64_t rank);
std::string StepSecondsSeries(int64_t rank);
std::string PhaseSeries(int64_t rank, std::string_view phase);
std::string SpanSeries(std::string_view name);

/// The rank that a series is of; nothing for other series.
std::optional<int> RankOf(std::string_view series);
/// The phase that a series is of; empty for other series.
std::string_view PhaseOf(std::string_view series);
/// What the run did in the spans of a series; empty for other series.
std::string_view SpanOf(std::string_view series);

/// Adds them all, of every step of `record`, warm-up included. What a phase waited for communication is the phase
/// "communication" and no part of the others. Nothing of what an older worker does not tell.
void AddPhaseSeries(const job::RunRecord& record, Measured& values);

}  // namespace assay::experiment
