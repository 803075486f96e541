// finetune_full_stability-v1.0.0: how often a short full fine-tune ends well.
#include <algorithm>

#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/property_spec.h"
#include "measure/statistics.h"

namespace assay::experiment {
namespace {

constexpr int64_t kRuns = 5;
constexpr int64_t kSteps = 5;

std::vector<TuneProperty> StabilityProperties() {
  return {Changed(FineTuningProperties(), "max_steps", Integers(1, 10001), kSteps)};
}

/// A plan that a worker refused says nothing of how stable it would be.
Status NoneWasRefused(const RunPlan& plan, std::span<const job::RunRecord> runs) {
  const auto refused =
      std::ranges::find(runs, job::RunEnd::kInvalid, [](const job::RunRecord& run) { return run.end; });
  return refused == runs.end() ? Status::Ok() : Status::InvalidArgument(refused->reason);
}

struct Ends {
  int64_t runs = 0;
  int64_t out_of_memory = 0;
  int64_t no_error = 0;

  double Part(int64_t count) const { return static_cast<double>(count) / static_cast<double>(runs); }
};

Ends CountEnds(std::span<const job::RunRecord> runs) {
  const auto count = [&](job::RunEnd end) {
    return std::ranges::count(runs, end, [](const job::RunRecord& run) { return run.end; });
  };
  return {.runs = std::ssize(runs),
          .out_of_memory = count(job::RunEnd::kOutOfMemory),
          .no_error = count(job::RunEnd::kDone)};
}

Result<Measured> MeasureStability(const space::Entity& point, const RunPlan& plan,
                                  std::span<const job::RunRecord> runs) {
  const Ends ends = CountEnds(runs);
  const measure::Interval interval = measure::WilsonInterval(ends.no_error, ends.runs);
  double seconds = 0;
  for (const job::RunRecord& run : runs) {
    seconds += run.wall_seconds;
  }
  Measured measured;
  measured.properties = {{"is_valid", int64_t{1}},
                         {"f_gpu_oom", ends.Part(ends.out_of_memory)},
                         {"f_other_error", ends.Part(ends.runs - ends.out_of_memory - ends.no_error)},
                         {"f_no_error", ends.Part(ends.no_error)},
                         {"f_no_error_ci_low", interval.low},
                         {"f_no_error_ci_high", interval.high},
                         {"runs", ends.runs},
                         {"runs_seconds", seconds}};
  return measured;
}

std::vector<TargetSpec> StabilityTargets() {
  constexpr Definition kRef = Definition::kReference;
  constexpr Definition kExact = Definition::kExact;
  return {
      {"is_valid", "", kRef, "1"},
      {"f_gpu_oom", "", kRef, "part of the runs that were out of memory, of the GPU or, without one, the machine"},
      {"f_other_error", "", kRef, "part of the runs that ended otherwise: diverged, an exception, killed, vanished"},
      {"f_no_error", "", kRef, "part of the runs that made all their steps"},
      {"f_no_error_ci_low", "", kExact, "lower end of Wilson's 95 % interval of f_no_error"},
      {"f_no_error_ci_high", "", kExact, "upper end of it"},
      {"runs", "runs", kExact, "runs of the point"},
      {"runs_seconds", "s", kExact, "wall time of all of them", Quantity::kRuntime}};
}

ReportSections StabilityReport() {
  constexpr double kPercent = 100;
  return {.breakdowns = {{.id = "run_ends",
                          .title = "How runs end",
                          .text = "The runs of each configuration by how they ended, and Wilson's interval of how many "
                                  "end well: five runs that all do leave room for one in two that does not.",
                          .target = "f_no_error",
                          .columns = {{"well", "%", "f_no_error", kPercent},
                                      {"at least", "%", "f_no_error_ci_low", kPercent},
                                      {"out of memory", "%", "f_gpu_oom", kPercent},
                                      {"otherwise", "%", "f_other_error", kPercent}}}}};
}

}  // namespace

const Experiment& FinetuneFullStability() {
  static const FineTuningExperiment experiment(
      {.id = "finetune_full_stability-v1.0.0",
       .description = "How often a short full fine-tune ends well: five runs of five steps, whatever their ends",
       .method = "stability",
       .properties = StabilityProperties(),
       .runs = {.count = kRuns, .of_any_end = true},
       .gate = &NoneWasRefused,
       .targets = StabilityTargets(),
       .measure = &MeasureStability,
       .report = StabilityReport()});
  return experiment;
}

}  // namespace assay::experiment
