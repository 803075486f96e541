// What the result of `assay tune` has of a data set of shards.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/tune_result_parts.h"

namespace assay::cli {
namespace {

/// Of the first rank, without the first step of the run, unless it is the only one.
struct Waits {
  double seconds = 0;
  double waited = 0;
  int64_t steps = 0;      ///< these
  int64_t all_steps = 0;  ///< and the first
};

Waits WaitsOf(const job::RunRecord& record) {
  std::vector<job::RankStep> steps = job::EventsOf<job::RankStep>(record);
  std::erase_if(steps, [](const job::RankStep& step) { return step.rank != 0; });
  Waits waits{.all_steps = static_cast<int64_t>(steps.size())};
  for (size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    waits.seconds += steps[i].seconds;
    waits.waited += steps[i].data_seconds;
    ++waits.steps;
  }
  return waits;
}

job::DataUse UseOf(const job::RunRecord& record) {
  job::DataUse sum;
  for (const job::DataUse& use : job::EventsOf<job::DataUse>(record)) {
    sum.samples += use.samples;
    sum.used_bytes += use.used_bytes;
    sum.asked_bytes += use.asked_bytes;
    sum.received_bytes += use.received_bytes;
    sum.requests += use.requests;
    sum.retries += use.retries;
    sum.fetched_shards += use.fetched_shards;
    sum.cached_shards += use.cached_shards;
    sum.unkept_shards += use.unkept_shards;
    sum.cpu_seconds += use.cpu_seconds;
  }
  return sum;
}

}  // namespace

nlohmann::json StreamedDataJson(const job::TrainingPlan& plan, const job::RunRecord& record) {
  const Waits waits = WaitsOf(record);
  const job::DataUse use = UseOf(record);
  return {{"uri", plan.data_uri},
          {"fingerprint", plan.data_fingerprint},
          {"stall_fraction", waits.seconds == 0 ? 0 : waits.waited / waits.seconds},
          {"samples", use.samples},
          {"used_bytes", use.used_bytes},
          {"asked_bytes", use.asked_bytes},
          {"received_bytes", use.received_bytes},
          {"requests", use.requests},
          {"retries", use.retries},
          {"fetched_shards", use.fetched_shards},
          {"cached_shards", use.cached_shards},
          {"unkept_shards", use.unkept_shards},
          {"cpu_seconds", use.cpu_seconds},
          {"cpu_seconds_per_sample", use.samples == 0 ? 0 : use.cpu_seconds / static_cast<double>(use.samples)}};
}

double PerSecondWithoutStalls(int64_t total, const job::RunRecord& record) {
  const Waits waits = WaitsOf(record);
  const double per_step = static_cast<double>(total) / static_cast<double>(std::max<int64_t>(1, waits.all_steps));
  return waits.seconds == waits.waited ? 0
                                       : per_step * static_cast<double>(waits.steps) / (waits.seconds - waits.waited);
}

}  // namespace assay::cli
