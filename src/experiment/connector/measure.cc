#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "experiment/connector/connector.h"
#include "experiment/connector/parts.h"
#include "experiment/measured_values.h"
#include "measure/sample_series.h"
#include "measure/statistics.h"

namespace assay::experiment {
namespace {

constexpr double kGigabyte = 1 << 30;  // as stores bill it

/// Behind the first, in which memory is touched for the first time.
template <typename Step>
std::vector<Step> Warm(const std::vector<Step>& steps) {
  return steps.size() < 2 ? steps : std::vector<Step>(steps.begin() + 1, steps.end());
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

/// Of each step behind the first, with what a checkpoint behind it held the training up.
std::vector<double> TimesOf(const ConnectorPart& part) {
  std::vector<double> seconds;
  for (const job::Step& step : Warm(part.steps)) {
    const auto checkpoint = std::ranges::find(part.checkpoints, step.step, &job::Checkpointed::step);
    seconds.push_back(step.seconds + (checkpoint == part.checkpoints.end() ? 0 : checkpoint->stall_seconds));
  }
  return seconds;
}

/// Of each checkpoint, from its begin until it was whole where it had to be.
std::vector<double> UntilTheyStood(const std::vector<job::Checkpointed>& checkpoints) {
  std::vector<double> seconds;
  for (const job::Checkpointed& checkpoint : checkpoints) {
    seconds.push_back(std::max(checkpoint.local_seconds, checkpoint.remote_seconds));
  }
  return seconds;
}

class ConnectorValues {
 public:
  ConnectorValues(const RunPlan& plan, const job::RunRecord& run)
      : plan_(plan), work_(std::get<job::ConnectorPlan>(plan.work)), run_(run), parts_(ConnectorPartsOf(run)) {}

  Result<Measured> All() {
    ASSAY_RETURN_IF_ERROR(CheckConnectorParts(work_, parts_));
    ASSAY_RETURN_IF_ERROR(AddLosses());
    Set("is_valid", int64_t{1});
    AddMachine();
    AddData();
    AddSpeed();
    AddWaits();
    AddCheckpoints();
    AddRequests();
    if (is_ours()) {  // of others the kernel tells that of one of their processes
      Set("max_rss_bytes", run_.max_rss_bytes);
    }
    Set("cpu_seconds", run_.cpu_seconds);
    Set("plan_seconds", plan_.seconds);
    Set("run_seconds", run_.wall_seconds);
    values_.series.insert(run_.samples.begin(), run_.samples.end());
    ASSAY_RETURN_IF_ERROR(CheckFinite(values_));
    AddUnits(ConnectorTargets(), values_);
    return std::move(values_);
  }

 private:
  bool is_ours() const { return ConnectorNamed(work_.connector).is_ours; }
  const ConnectorPart& Of(const char* step) const { return parts_.at(step); }
  void Set(const std::string& name, space::Value value) { values_.properties[name] = std::move(value); }

  /// Where data and checkpoints lie changes nothing of what ours learns, and nothing that a resume forgets.
  Status AddLosses() {
    const std::vector<job::Step>& streamed = Of("fine_tune").steps;
    const double of_place = LossDifference(streamed, Of("fine_tune_local").steps);
    const double of_resume = LossDifference(Of("resume").steps, streamed);
    const double of_time = LossDifference(Of("fine_tune_again").steps, streamed);
    if (is_ours() && !(of_place == 0 && of_resume == 0 && of_time == 0)) {
      return Status::Internal(
          fmt::format("losses differ by {} for where the data lay, by {} for a resume, by {} when it was made again: "
                      "they are of the same rows, and must be the same",
                      of_place, of_resume, of_time));
    }
    Set("loss_difference", of_place);
    Set("resumed_loss_difference", of_resume);
    Set("initial_loss", streamed.front().loss);
    Set("final_loss", streamed.back().loss);
    values_.series["loss"] = Column(streamed, &job::Step::loss);
    values_.series["step_seconds"] = Column(streamed, &job::Step::seconds);
    return Status::Ok();
  }

  /// Means of what was sampled while `part` went on; nothing where it was over before the next sample.
  void AddMean(const std::string& name, const ConnectorPart& part, const std::vector<double>& times,
               const std::vector<double>& column) {
    std::vector<double> within;
    for (size_t i = 0; i < std::min(times.size(), column.size()); ++i) {
      if (times[i] > part.begin_s() && times[i] <= part.end_s && !std::isnan(column[i])) {
        within.push_back(column[i]);
      }
    }
    if (!within.empty()) {
      Set(name, measure::Mean(within));
    }
  }

  void AddMachine() {
    for (const char* step : job::kStepsOfTheirOwn) {
      Set(std::string(step) + "_start_seconds", Of(step).step.start_seconds);
    }
    const measure::SampleSeries samples = measure::FromColumns(run_.samples);
    for (const char* step : kConnectorSteps) {
      const ConnectorPart& part = Of(step);
      const std::string name = step;
      Set(name + "_seconds", part.step.seconds);
      AddMean(name + "_cpu_percent", part, samples.time_s, samples.cpu_system_percent);
      AddMean(name + "_memory_percent", part, samples.time_s, samples.memory_system_percent);
      if (work_.device != "cuda" || samples.gpus.empty()) {
        continue;
      }
      const measure::GpuSeries& gpu = samples.gpus.front();
      AddMean(name + "_gpu_percent", part, samples.time_s, gpu.utilization_percent);
      std::vector<double> used;
      for (size_t i = 0; i < gpu.memory_used_bytes.size(); ++i) {
        used.push_back(100 * gpu.memory_used_bytes[i] / gpu.memory_total_bytes[i]);
      }
      AddMean(name + "_gpu_memory_percent", part, samples.time_s, used);
    }
  }

  void AddData() {
    const job::ConnectorStep& optimised = Of("optimise").step;
    const job::ConnectorStep& packed = Of("optimise_compressed").step;
    Set("rows", optimised.samples);
    Set("optimise_mb_per_s", static_cast<double>(optimised.bytes) / 1e6 / optimised.seconds);
    Set("optimise_compressed_mb_per_s", static_cast<double>(packed.bytes) / 1e6 / packed.seconds);
    Set("objects", Of("count").step.objects);
    Set("total_bytes", Of("size").step.bytes);
    if (work_.gigabyte_month_usd > 0) {
      Set("storage_usd_per_month", static_cast<double>(Of("size").step.bytes) / kGigabyte * work_.gigabyte_month_usd);
    }
    AddPass("stream");
    AddPass("stream_compressed");
    Set("first_batch_seconds", Of("stream").step.start_seconds + Of("stream").step.first_seconds);
    if (const job::ConnectorStep& stream = Of("stream").step; stream.wait_seconds >= 0) {
      Set("stream_stall_fraction", stream.wait_seconds / stream.seconds);
    }
  }

  void AddPass(const std::string& name) {
    const job::ConnectorStep& pass = Of(name.c_str()).step;
    Set(name + "_samples_per_second", static_cast<double>(pass.samples) / pass.seconds);
    Set(name + "_mb_per_s", static_cast<double>(pass.bytes) / 1e6 / pass.seconds);
  }

  void AddRate(const std::string& name, const ConnectorPart& part) {
    const std::vector<double> tokens = Column(Warm(part.steps), &job::Step::real_tokens);
    const std::vector<double> seconds = TimesOf(part);
    Set(name, Sum(tokens) / Sum(seconds));
    if (const measure::MeanEstimate mean = measure::RatioInterval(tokens, seconds); mean.has_interval()) {
      Set(name + "_ci_low", std::max(0.0, mean.interval.low));
      Set(name + "_ci_high", mean.interval.high);
    }
  }

  void AddSpeed() {
    const ConnectorPart& fine_tune = Of("fine_tune");
    const std::vector<job::Step> streamed = Warm(fine_tune.steps);
    AddRate("real_tokens_per_second", fine_tune);
    AddRate("local_real_tokens_per_second", Of("fine_tune_local"));
    Set("real_tokens_per_second_without_checkpoints",
        Sum(Column(streamed, &job::Step::real_tokens)) / Sum(Column(streamed, &job::Step::seconds)));
    AddStepTimes(fine_tune.steps, streamed, values_);
    for (const auto& [name, step] : {std::pair("time_to_first_step", "fine_tune"),
                                     {"resumed_time_to_first_step", "resume"},
                                     {"local_time_to_first_step", "fine_tune_local"}}) {
      Set(name, Of(step).step.start_seconds + std::max(0.0, Of(step).first_step_s - Of(step).begin_s()));
    }
    AddBucketCost();
  }

  /// Of pairs of steps on the same rows: what rows differ in is in neither. What the machine drifts by between two runs
  /// is in a pair: so the local run is held against one before it and one behind, and the interval has both of theirs.
  void AddBucketCost() {
    const std::vector<double> local = TimesOf(Of("fine_tune_local"));
    const double percent = 100 / measure::Mean(local);
    double sum = 0;
    std::vector<double> ends;
    for (const char* step : {"fine_tune", "fine_tune_again"}) {
      std::vector<double> beyond = TimesOf(Of(step));
      std::ranges::transform(beyond, local, beyond.begin(), std::minus());
      const measure::MeanEstimate mean = measure::BatchMeansInterval(beyond);
      sum += mean.mean;
      if (mean.has_interval()) {
        ends.insert(ends.end(), {mean.interval.low, mean.interval.high});
      }
    }
    Set("bucket_cost_percent", sum / 2 * percent);
    if (!ends.empty()) {
      Set("bucket_cost_percent_ci_low", std::ranges::min(ends) * percent);
      Set("bucket_cost_percent_ci_high", std::ranges::max(ends) * percent);
    }
  }

  void AddWaits() {
    const ConnectorPart& part = Of("fine_tune");
    const std::vector<job::RankStep> steps = Warm(part.rank_steps);
    const double seconds = Sum(Column(steps, &job::RankStep::seconds));
    const double waited = Sum(Column(steps, &job::RankStep::data_seconds));
    if (seconds > waited) {
      Set("stall_fraction", waited / seconds);
      const double tokens = Sum(Column(Warm(part.steps), &job::Step::real_tokens));
      Set("real_tokens_per_second_without_stalls", tokens / (Sum(TimesOf(part)) - waited));
    }
  }

  void AddCheckpoints() {
    const std::vector<job::Checkpointed>& checkpoints = Of("fine_tune").checkpoints;
    Set("checkpoints", static_cast<int64_t>(checkpoints.size()));
    if (!checkpoints.empty()) {
      Set("checkpoint_bytes", checkpoints.back().bytes);
      Set("checkpoint_stall_seconds", measure::Mean(Column(checkpoints, &job::Checkpointed::stall_seconds)));
      Set("checkpoint_remote_seconds", measure::Mean(UntilTheyStood(checkpoints)));
    }
    if (const auto& local = Of("fine_tune_local").checkpoints; !local.empty()) {
      Set("checkpoint_local_seconds", measure::Mean(UntilTheyStood(local)));
    }
  }

  /// Of all steps at the place together, but for what was made again. A library that does not tell has none of these.
  void AddRequests() {
    job::ConnectorStep sum;
    for (const auto& [name, part] : parts_) {
      if (name == "fine_tune_local" || name == "fine_tune_again") {
        continue;
      }
      if (part.step.read_requests < 0) {
        return;
      }
      sum.read_requests += part.step.read_requests + (part.use ? part.use->requests : 0);
      sum.write_requests += part.step.write_requests;
      sum.retries += part.step.retries + (part.use ? part.use->retries : 0);
      sum.received_bytes += part.step.received_bytes + (part.use ? part.use->received_bytes : 0);
      sum.sent_bytes += part.step.sent_bytes;
    }
    Set("read_requests", sum.read_requests);
    Set("write_requests", sum.write_requests);
    Set("retries", sum.retries);
    Set("received_bytes", sum.received_bytes);
    Set("sent_bytes", sum.sent_bytes);
    if (work_.thousand_reads_usd > 0 || work_.thousand_writes_usd > 0) {
      Set("requests_usd", static_cast<double>(sum.read_requests) / 1000 * work_.thousand_reads_usd +
                              static_cast<double>(sum.write_requests) / 1000 * work_.thousand_writes_usd);
    }
    AddDataUse(Of("fine_tune"));
  }

  void AddDataUse(const ConnectorPart& part) {
    if (!part.use || part.use->samples == 0) {
      return;
    }
    const job::DataUse& use = *part.use;
    Set("data_cpu_seconds_per_sample", use.cpu_seconds / static_cast<double>(use.samples));
    const int64_t received = use.received_bytes + part.step.copied_bytes;
    if (received > 0 && use.used_bytes > 0) {  // else nothing went over a store that counts
      Set("read_amplification", static_cast<double>(received) / static_cast<double>(use.used_bytes));
    }
  }

  const RunPlan& plan_;
  const job::ConnectorPlan& work_;
  const job::RunRecord& run_;
  const ConnectorParts parts_;
  Measured values_;
};

}  // namespace

Result<Measured> MeasureConnector(const RunPlan& plan, const job::RunRecord& run) {
  return ConnectorValues(plan, run).All();
}

}  // namespace assay::experiment
