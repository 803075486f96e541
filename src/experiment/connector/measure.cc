#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "experiment/connector/connector.h"
#include "experiment/measured_values.h"
#include "measure/sample_series.h"
#include "measure/statistics.h"

namespace assay::experiment {
namespace {

constexpr double kGigabyte = 1e9;

/// A step with what was told within it.
struct Part {
  job::ConnectorStep step;
  double end_s = 0;         ///< on the clock of the samples
  double first_step_s = 0;  ///< likewise, of its first training step
  std::vector<job::Step> steps{};
  std::vector<job::RankStep> rank_steps{};
  std::vector<job::Checkpointed> checkpoints{};
  std::optional<job::DataUse> use{};

  double begin_s() const { return end_s - step.seconds; }
};

using Parts = std::map<std::string, Part>;

Parts PartsOf(const job::RunRecord& run) {
  Parts parts;
  Part part;
  for (size_t i = 0; i < run.events.size(); ++i) {
    const job::Event& event = run.events[i];
    const double at_s = i < run.event_seconds.size() ? run.event_seconds[i] : 0;
    if (const auto* step = std::get_if<job::Step>(&event)) {
      part.first_step_s = part.steps.empty() ? at_s : part.first_step_s;
      part.steps.push_back(*step);
    } else if (const auto* rank_step = std::get_if<job::RankStep>(&event)) {
      part.rank_steps.push_back(*rank_step);
    } else if (const auto* checkpoint = std::get_if<job::Checkpointed>(&event)) {
      part.checkpoints.push_back(*checkpoint);
    } else if (const auto* use = std::get_if<job::DataUse>(&event)) {
      part.use = *use;
    } else if (const auto* ended = std::get_if<job::ConnectorStep>(&event)) {
      part.step = *ended;
      part.end_s = at_s;
      parts[ended->step] = std::move(part);
      part = {};
    }
  }
  return parts;
}

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

/// Of the steps that both made; 0 where they made none.
double LossDifference(const std::vector<job::Step>& one, const std::vector<job::Step>& other) {
  double largest = 0;
  for (const job::Step& step : one) {
    const auto same = std::ranges::find(other, step.step, &job::Step::step);
    largest = same == other.end() ? largest : std::max(largest, std::abs(same->loss - step.loss));
  }
  return largest;
}

class ConnectorValues {
 public:
  ConnectorValues(const RunPlan& plan, const job::RunRecord& run)
      : plan_(plan), work_(std::get<job::ConnectorPlan>(plan.work)), run_(run), parts_(PartsOf(run)) {}

  Result<Measured> All() {
    ASSAY_RETURN_IF_ERROR(CheckComplete());
    ASSAY_RETURN_IF_ERROR(AddLosses());
    Set("is_valid", int64_t{1});
    AddMachine();
    AddData();
    AddSpeed();
    AddWaits();
    AddCheckpoints();
    AddRequests();
    Set("max_rss_bytes", run_.max_rss_bytes);
    Set("cpu_seconds", run_.cpu_seconds);
    Set("plan_seconds", plan_.seconds);
    Set("run_seconds", run_.wall_seconds);
    values_.series.insert(run_.samples.begin(), run_.samples.end());
    ASSAY_RETURN_IF_ERROR(CheckFinite(values_));
    AddUnits(ConnectorTargets(), values_);
    return std::move(values_);
  }

 private:
  const Part& Of(const char* step) const { return parts_.at(step); }
  void Set(const std::string& name, space::Value value) { values_.properties[name] = std::move(value); }

  Status CheckComplete() const {
    for (const char* step : kConnectorSteps) {
      const auto part = parts_.find(step);
      const bool trains = std::string_view(step).starts_with("fine_tune") || std::string_view(step) == "resume";
      if (part == parts_.end() || (trains && part->second.steps.empty())) {
        return Status::Internal(fmt::format("connector {} told nothing of its step {}", work_.connector, step));
      }
    }
    return Status::Ok();
  }

  /// Where data and checkpoints lie changes nothing of what ours learns, and nothing that a resume forgets.
  Status AddLosses() {
    const std::vector<job::Step>& streamed = Of("fine_tune").steps;
    const double of_place = LossDifference(streamed, Of("fine_tune_local").steps);
    const double of_resume = LossDifference(Of("resume").steps, streamed);
    if (ConnectorNamed(work_.connector).is_ours && (of_place != 0 || of_resume != 0)) {
      return Status::Internal(
          fmt::format("losses differ by {} for where the data lay, by {} for a resume: they are of "
                      "the same rows, and must be the same",
                      of_place, of_resume));
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
  void AddMean(const std::string& name, const Part& part, const std::vector<double>& times,
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
    const measure::SampleSeries samples = measure::FromColumns(run_.samples);
    for (const char* step : kConnectorSteps) {
      const Part& part = Of(step);
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
    const job::ConnectorStep& stream = Of("stream").step;
    Set("rows", optimised.samples);
    Set("optimise_mb_per_s", static_cast<double>(optimised.bytes) / 1e6 / optimised.seconds);
    Set("optimise_compressed_mb_per_s", static_cast<double>(packed.bytes) / 1e6 / packed.seconds);
    Set("objects", Of("count").step.objects);
    Set("total_bytes", Of("size").step.bytes);
    Set("stream_samples_per_second", static_cast<double>(stream.samples) / stream.seconds);
    Set("stream_mb_per_s", static_cast<double>(stream.bytes) / 1e6 / stream.seconds);
    Set("first_sample_seconds", stream.first_seconds);
    Set("stream_stall_fraction", stream.wait_seconds / stream.seconds);
  }

  void AddRate(const std::string& name, const std::vector<job::Step>& steps) {
    const std::vector<double> tokens = Column(Warm(steps), &job::Step::real_tokens);
    const std::vector<double> seconds = Column(Warm(steps), &job::Step::seconds);
    const double rate = Sum(tokens) / Sum(seconds);
    Set(name, rate);
    if (const measure::MeanEstimate mean = measure::RatioInterval(tokens, seconds); mean.has_interval()) {
      Set(name + "_ci_low", std::max(0.0, mean.interval.low));
      Set(name + "_ci_high", mean.interval.high);
    }
  }

  void AddSpeed() {
    const std::vector<job::Step> streamed = Warm(Of("fine_tune").steps);
    const std::vector<job::Step> local = Warm(Of("fine_tune_local").steps);
    AddRate("real_tokens_per_second", Of("fine_tune").steps);
    AddRate("local_real_tokens_per_second", Of("fine_tune_local").steps);
    AddStepTimes(Of("fine_tune").steps, streamed, values_);
    for (const auto& [name, step] : {std::pair("time_to_first_step", "fine_tune"),
                                     {"resumed_time_to_first_step", "resume"},
                                     {"local_time_to_first_step", "fine_tune_local"}}) {
      Set(name, std::max(0.0, Of(step).first_step_s - Of(step).begin_s()));
    }
    // Pairs of steps on the same rows: what rows differ in is in neither.
    std::vector<double> beyond;
    for (size_t i = 0; i < std::min(streamed.size(), local.size()); ++i) {
      beyond.push_back(streamed[i].seconds - local[i].seconds);
    }
    const measure::MeanEstimate mean = measure::MeanInterval(beyond);
    const double percent = 100 / measure::Mean(Column(local, &job::Step::seconds));
    Set("bucket_cost_percent", mean.mean * percent);
    if (mean.has_interval()) {
      Set("bucket_cost_percent_ci_low", mean.interval.low * percent);
      Set("bucket_cost_percent_ci_high", mean.interval.high * percent);
    }
  }

  void AddWaits() {
    const std::vector<job::RankStep> steps = Warm(Of("fine_tune").rank_steps);
    const double seconds = Sum(Column(steps, &job::RankStep::seconds));
    const double waited = Sum(Column(steps, &job::RankStep::data_seconds));
    if (seconds > waited) {
      Set("stall_fraction", waited / seconds);
      const double tokens = Sum(Column(Warm(Of("fine_tune").steps), &job::Step::real_tokens));
      Set("real_tokens_per_second_without_stalls", tokens / (seconds - waited));
    }
  }

  void AddCheckpoints() {
    const std::vector<job::Checkpointed>& checkpoints = Of("fine_tune").checkpoints;
    Set("checkpoints", static_cast<int64_t>(checkpoints.size()));
    if (!checkpoints.empty()) {
      Set("checkpoint_bytes", checkpoints.back().bytes);
      Set("checkpoint_stall_seconds", measure::Mean(Column(checkpoints, &job::Checkpointed::stall_seconds)));
      Set("checkpoint_remote_seconds", measure::Mean(Column(checkpoints, &job::Checkpointed::remote_seconds)));
    }
    if (const auto& local = Of("fine_tune_local").checkpoints; !local.empty()) {
      Set("checkpoint_local_seconds", measure::Mean(Column(local, &job::Checkpointed::remote_seconds)) +
                                          measure::Mean(Column(local, &job::Checkpointed::local_seconds)));
    }
  }

  /// Of all steps at the place together. A library that does not tell has none of these.
  void AddRequests() {
    job::ConnectorStep sum;
    for (const auto& [name, part] : parts_) {
      if (name == "fine_tune_local") {
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
    if (work_.gigabyte_month_usd > 0) {
      Set("requests_usd", static_cast<double>(sum.read_requests) / 1000 * work_.thousand_reads_usd +
                              static_cast<double>(sum.write_requests) / 1000 * work_.thousand_writes_usd);
      Set("storage_usd_per_month", static_cast<double>(Of("size").step.bytes) / kGigabyte * work_.gigabyte_month_usd);
    }
    if (const auto& use = Of("fine_tune").use; use && use->samples > 0) {
      Set("data_cpu_seconds_per_sample", use->cpu_seconds / static_cast<double>(use->samples));
      Set("read_amplification",
          use->used_bytes == 0 ? 0 : static_cast<double>(use->received_bytes) / static_cast<double>(use->used_bytes));
    }
  }

  const RunPlan& plan_;
  const job::ConnectorPlan& work_;
  const job::RunRecord& run_;
  const Parts parts_;
  Measured values_;
};

}  // namespace

Result<Measured> MeasureConnector(const RunPlan& plan, const job::RunRecord& run) {
  return ConnectorValues(plan, run).All();
}

}  // namespace assay::experiment
