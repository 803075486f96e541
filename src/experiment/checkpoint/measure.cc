#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "experiment/checkpoint/checkpoint_benchmark.h"
#include "experiment/measured_values.h"
#include "measure/sample_series.h"
#include "measure/statistics.h"

namespace assay::experiment {
namespace {

constexpr double kMibBytes = 1048576;
constexpr double kGibBytes = 1024 * kMibBytes;

/// One repeat, over all ranks.
struct Together {
  double begin = std::numeric_limits<double>::infinity();
  double end = 0;
  double stall = 0;
  double longest = 0;  ///< of a rank

  double span() const { return end - begin; }
};

std::map<int64_t, Together> ByRepeat(const std::vector<job::CheckpointTransfer>& transfers) {
  std::map<int64_t, Together> repeats;
  for (const job::CheckpointTransfer& transfer : transfers) {
    Together& together = repeats[transfer.repeat];
    together.begin = std::min(together.begin, transfer.began_seconds);
    together.end = std::max(together.end, transfer.began_seconds + transfer.seconds);
    together.stall = std::max(together.stall, transfer.stall_seconds);
    together.longest = std::max(together.longest, transfer.seconds);
  }
  return repeats;
}

template <typename Of>
std::vector<double> ColumnOf(const std::map<int64_t, Together>& repeats, const Of& of) {
  std::vector<double> values;
  for (const auto& [repeat, together] : repeats) {
    values.push_back(of(together));
  }
  return values;
}

/// {n, mean, min, p50, p75, p90, max} of a sampled column, as the reference has them.
void AddUtilization(const std::string& name, const std::vector<double>& column, Measured& values) {
  if (column.empty()) {
    return;
  }
  values.properties[name + "_n"] = static_cast<int64_t>(column.size());
  values.properties[name + "_mean"] = measure::Mean(column);
  values.properties[name + "_min"] = std::ranges::min(column);
  values.properties[name + "_p50"] = measure::Quantile(column, 0.5);
  values.properties[name + "_p75"] = measure::Quantile(column, 0.75);
  values.properties[name + "_p90"] = measure::Quantile(column, 0.9);
  values.properties[name + "_max"] = std::ranges::max(column);
}

void AddSpans(const std::vector<double>& spans, double state_mib, Measured& values) {
  values.properties["span_seconds_mean"] = measure::Mean(spans);
  values.properties["span_seconds_median"] = measure::Median(spans);
  values.properties["span_seconds_mad"] = measure::MedianAbsoluteDeviation(spans);
  values.properties["span_seconds_min"] = std::ranges::min(spans);
  values.properties["span_seconds_max"] = std::ranges::max(spans);
  if (std::ssize(spans) >= measure::kFewestForInterval) {
    const measure::MeanEstimate mean = measure::MeanInterval(spans);
    values.properties["span_seconds_ci_low"] = mean.interval.low;
    values.properties["span_seconds_ci_high"] = mean.interval.high;
  }
  values.properties["mib_per_s"] = state_mib / measure::Median(spans);
  values.series["span_seconds"] = spans;
}

/// Of clients that tell.
void AddRequests(const std::vector<job::CheckpointTransfer>& transfers, double repeats, Measured& values) {
  job::CheckpointTransfer sum{.read_requests = 0, .write_requests = 0, .retries = 0};
  for (const job::CheckpointTransfer& transfer : transfers) {
    if (transfer.read_requests < 0) {
      return;
    }
    sum.read_requests += transfer.read_requests;
    sum.write_requests += transfer.write_requests;
    sum.retries += transfer.retries;
  }
  values.properties["read_requests"] = static_cast<double>(sum.read_requests) / repeats;
  values.properties["write_requests"] = static_cast<double>(sum.write_requests) / repeats;
  values.properties["retries"] = sum.retries;
}

Status CheckComplete(const job::CheckpointPlan& plan, const std::vector<job::CheckpointTransfer>& transfers) {
  const int64_t expected = plan.repeats * std::max(plan.number_ranks, plan.modelled_ranks);
  if (std::ssize(transfers) != expected) {
    return Status::Internal(fmt::format("client {} told of {} times, and not of {}: a rank's {} each", plan.client,
                                        transfers.size(), expected, plan.repeats));
  }
  if (plan.modelled_ranks > 0) {
    return Status::Ok();
  }
  const bool is_verified = std::ranges::all_of(transfers, [&](const job::CheckpointTransfer& transfer) {
    return transfer.is_verified || (transfer.operation == "save" && transfer.repeat < plan.repeats);
  });
  return is_verified ? Status::Ok()
                     : Status::Internal(fmt::format("client {} did not compare what it loaded", plan.client));
}

}  // namespace

// clang-format off
const std::vector<TargetSpec>& SharedCheckpointTargets() {
  constexpr Definition kRef = Definition::kReference;
  constexpr Definition kExact = Definition::kExact;
  static const std::vector<TargetSpec> targets = {
      {"is_valid", "", kRef, "1; a point that a rule forbids has the outcome invalid instead"},
      {"mib_per_s", "MiB/s", kExact, "bytes of the state / median span: of saves durable ones", Quantity::kThroughput},
      {"span_seconds_median", "s", kExact, "median over repeats of the last rank's end less the first one's begin", Quantity::kStepSeconds},
      {"span_seconds_mean", "s", kExact, "mean of the same"},
      {"span_seconds_ci_low", "s", kExact, "lower end of its 95 % interval by Student's t; left out below 3 repeats"},
      {"span_seconds_ci_high", "s", kExact, "upper end of it"},
      {"span_seconds_mad", "s", kExact, "median absolute deviation of the same spans: the noise"},
      {"span_seconds_min", "s", kExact, "the shortest"},
      {"span_seconds_max", "s", kExact, "the longest"},
      {"stall_seconds_median", "s", kExact, "median over repeats of the longest that a rank's training would have waited"},
      {"slowest_rank_seconds_mean", "s", kExact, "mean over repeats of the slowest rank's time: MLPerf Storage's duration"},
      {"slowest_rank_gb_per_s", "GB/s", kExact, "mean over repeats of bytes of the state / that time: MLPerf Storage's throughput"},
      {"state_bytes", "B", kExact, "of all ranks' tensors"},
      {"memory_beyond_bytes", "B", kExact, "the most of a rank's resident memory beyond what there was before, over repeats; what our loads map of files is the page cache's; left out where the system does not tell"},
      {"read_requests", "", kExact, "GET and HEAD of all ranks in one repeat at a bucket, their mean; left out where the client does not tell, as the next two"},
      {"write_requests", "", kExact, "PUT, POST and LIST likewise"},
      {"retries", "", kExact, "requests that were sent again, in all repeats"},
      {"cpu_seconds_per_gib", "s/GiB", kExact, "processor time of all ranks in one repeat, their mean, for each GiB of the state", Quantity::kCpu},
      {"max_rss_bytes", "B", kExact, "the kernel's high-water mark of resident memory; over ranks the largest", Quantity::kPeakResidentMemory},
      {"cpu_util_n", "", kRef, "samples of the machine's processor use"},
      {"cpu_util_mean", "%", kRef, "their mean; 100 is all cores"},
      {"cpu_util_min", "%", kRef, "the lowest"},
      {"cpu_util_p50", "%", kRef, "their median"},
      {"cpu_util_p75", "%", kRef, "their 75th percentile"},
      {"cpu_util_p90", "%", kRef, "their 90th percentile"},
      {"cpu_util_max", "%", kRef, "the highest"},
      {"cpu_mem_n", "", kRef, "samples of the machine's memory in use"},
      {"cpu_mem_mean", "%", kRef, "their mean; 100 is all of it"},
      {"cpu_mem_min", "%", kRef, "the lowest"},
      {"cpu_mem_p50", "%", kRef, "their median"},
      {"cpu_mem_p75", "%", kRef, "their 75th percentile"},
      {"cpu_mem_p90", "%", kRef, "their 90th percentile"},
      {"cpu_mem_max", "%", kRef, "the highest"},
      {"cpu_seconds", "s", kExact, "user and system time of all ranks over the whole run"},
      {"plan_seconds", "s", kExact, "before the ranks were started"},
      {"run_seconds", "s", kExact, "wall time of the run, making the state and comparing it included", Quantity::kRuntime},
  };
  return targets;
}
// clang-format on

Result<Measured> MeasureTransfers(const job::CheckpointPlan& plan, const job::RunRecord& run) {
  const auto transfers = job::EventsOf<job::CheckpointTransfer>(run);
  ASSAY_RETURN_IF_ERROR(CheckComplete(plan, transfers));
  const std::map<int64_t, Together> repeats = ByRepeat(transfers);
  const auto state_bytes = static_cast<double>(transfers.front().state_bytes);
  const auto count = static_cast<double>(plan.repeats);
  Measured values;
  values.properties["is_valid"] = int64_t{1};
  AddSpans(ColumnOf(repeats, [](const Together& one) { return one.span(); }), state_bytes / kMibBytes, values);
  values.properties["stall_seconds_median"] =
      measure::Median(ColumnOf(repeats, [](const Together& one) { return one.stall; }));
  values.properties["slowest_rank_seconds_mean"] =
      measure::Mean(ColumnOf(repeats, [](const Together& one) { return one.longest; }));
  values.properties["slowest_rank_gb_per_s"] =
      measure::Mean(ColumnOf(repeats, [&](const Together& one) { return state_bytes / 1e9 / one.longest; }));
  values.properties["state_bytes"] = transfers.front().state_bytes;
  if (const std::vector<double> beyond = Column(transfers, &job::CheckpointTransfer::beyond_bytes);
      std::ranges::min(beyond) >= 0) {
    values.properties["memory_beyond_bytes"] = std::ranges::max(beyond);
  }
  AddRequests(transfers, count, values);
  double cpu_seconds = 0;
  for (const job::CheckpointTransfer& transfer : transfers) {
    cpu_seconds += transfer.cpu_seconds;
  }
  values.properties["cpu_seconds_per_gib"] = cpu_seconds / count / (state_bytes / kGibBytes);
  values.properties["max_rss_bytes"] = run.max_rss_bytes;
  values.properties["cpu_seconds"] = run.cpu_seconds;
  values.properties["run_seconds"] = run.wall_seconds;
  const measure::SampleSeries samples = measure::FromColumns(run.samples);
  AddUtilization("cpu_util", samples.cpu_system_percent, values);
  AddUtilization("cpu_mem", samples.memory_system_percent, values);
  values.series.insert(run.samples.begin(), run.samples.end());
  values.series["rank_seconds"] = Column(transfers, &job::CheckpointTransfer::seconds);
  return values;
}

}  // namespace assay::experiment
