#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "data/token_file.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/measured_values.h"
#include "experiment/phase_series.h"
#include "experiment/property_spec.h"
#include "measure/sample_series.h"
#include "measure/statistics.h"
#include "measure/utilization.h"

namespace assay::experiment {
namespace {

struct Counts {
  int64_t steps = 0;
  int64_t samples = 0;
  int64_t real_tokens = 0;
  int64_t padded_tokens = 0;
  int64_t supervised_tokens = 0;
};

Counts CountSteps(const std::vector<job::Step>& steps) {
  Counts counts;
  for (const job::Step& step : steps) {
    ++counts.steps;
    counts.samples += step.samples;
    counts.real_tokens += step.real_tokens;
    counts.padded_tokens += step.padded_tokens;
    counts.supervised_tokens += step.supervised_tokens;
  }
  return counts;
}

/// Of a micro-batch without loss the worker makes the forward pass alone: with such steps a run would be faster than
/// the work that it is measured for.
Status CheckAllTrained(const std::vector<job::Step>& steps, int64_t warmup_steps, int64_t max_length) {
  int64_t forward_only = 0;
  for (const job::Step& step : steps) {
    // The reference's time has a first step in it that no warm-up was found for, though the exact times leave it out.
    forward_only += step.step > warmup_steps ? step.forward_only : 0;
  }
  if (forward_only == 0) {
    return Status::Ok();
  }
  return Status::FailedPrecondition(fmt::format(
      "{} micro-batches after the warm-up bore no loss at model_max_length {}, so that their steps were less than a "
      "training step: choose a larger model_max_length, or take such rows out",
      forward_only, max_length));
}

/// One run, seen as the definitions need it.
class FineTuningRun {
 public:
  static Result<FineTuningRun> Of(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record) {
    FineTuningRun run(point, plan, record);
    if (run.loaded_ == nullptr || run.ended_ == nullptr || run.steps_.empty()) {
      return Status::Internal("the run made no step, so it has no speed: give it more time or more rows");
    }
    if (run.measured_.empty() || run.measured_seconds_ <= 0) {
      return Status::Internal("the run has no step after its warm-up: give it more time");
    }
    if (const std::string divergence = DescribeDivergence(run.steps_); !divergence.empty()) {
      return Status::FailedPrecondition(divergence);
    }
    ASSAY_RETURN_IF_ERROR(CheckAllTrained(run.steps_, run.ended_->warmup_steps, run.tune_.model_max_length));
    return run;
  }

  Result<Measured> Values() {
    AddTimes();
    AddPlannedSpeeds();
    ASSAY_RETURN_IF_ERROR(AddFileOrderSpeed());
    AddExactSpeeds();
    AddInterval();
    AddStepTimes(steps_, measured_, values_);
    AddMemory();
    AddUtilization();
    AddLearning();
    AddSeries();
    ASSAY_RETURN_IF_ERROR(CheckFinite(values_));
    AddUnits(FineTuningTargets(), values_);
    return std::move(values_);
  }

 private:
  FineTuningRun(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record)
      : plan_(plan),
        tune_(std::get<job::TunePlan>(plan.work)),
        record_(record),
        loaded_(job::FindEvent<job::Loaded>(record)),
        ended_(job::FindEvent<job::Ended>(record)),
        steps_(job::Steps(record)),
        ranks_(tune_.number_ranks) {
    if (ended_ != nullptr) {
      seconds_ = ended_->train_runtime - ended_->warmup_seconds;
      FindMeasuredSteps();
    }
    fed_ = CountSteps(steps_);
    counted_ = CountSteps(measured_);
  }

  void Set(const std::string& name, double value) { values_.properties[name] = value; }
  void SetCount(const std::string& name, int64_t value) { values_.properties[name] = value; }
  /// By the reference's T.
  double PerSecond(int64_t count) const { return static_cast<double>(count) / seconds_; }
  /// Of the measured steps.
  double Rate(int64_t count) const { return static_cast<double>(count) / measured_seconds_; }

  /// The first step touches memory for the first time: where auto_stop_method found no warm-up, it is the warm-up.
  void FindMeasuredSteps() {
    int64_t left_out = ended_->warmup_steps;
    measured_seconds_ = seconds_;
    if (left_out == 0 && steps_.size() > 1) {
      left_out = 1;
      measured_seconds_ -= steps_.front().seconds;
    }
    std::copy_if(steps_.begin(), steps_.end(), std::back_inserter(measured_),
                 [&](const job::Step& step) { return step.step > left_out; });
  }

  void AddTimes() {
    SetCount("is_valid", 1);
    Set("train_runtime", seconds_);
    Set("train_runtime_total", ended_->train_runtime);
    Set("model_load_time", loaded_->seconds);
    SetCount("training_steps", fed_.steps);
    SetCount("warmup_steps", ended_->warmup_steps);
    Set("warmup_seconds", ended_->warmup_seconds);
    Set("cpu_seconds", record_.cpu_seconds);
    Set("plan_seconds", plan_.seconds);
    Set("overhead_seconds", record_.overhead_seconds);
  }

  int64_t RowsOfAStep() const { return tune_.batch_size * ranks_ * tune_.gradient_accumulation_steps; }

  /// As transformers.Trainer: from what was planned, whatever was done.
  void AddPlannedSpeeds() {
    const int64_t samples =
        tune_.max_steps > 0 ? tune_.max_steps * RowsOfAStep() : loaded_->rows * tune_.num_train_epochs;
    const double runtime = ended_->train_runtime;
    Set("train_samples_per_second", static_cast<double>(samples) / runtime);
    Set("train_steps_per_second", static_cast<double>(loaded_->planned_steps) / runtime);
    if (tune_.stop_after_seconds > 0) {
      return;
    }
    // The Trainer counts the tensors of a pass over the data loader; the steps that were not made are taken to be like
    // those that were.
    const double of_a_step =
        static_cast<double>(fed_.real_tokens + fed_.padded_tokens) / static_cast<double>(fed_.steps);
    const double tokens = of_a_step * static_cast<double>(loaded_->planned_steps);
    Set("train_tokens_per_second", tokens / runtime);
    Set("train_tokens_per_gpu_per_second", tokens / runtime / static_cast<double>(ranks_));
  }

  Status AddFileOrderSpeed() {
    ASSAY_ASSIGN_OR_RETURN(const data::TokenFile file, data::TokenFile::Open(tune_.tokens_file));
    const int64_t tokens =
        FileOrderTokens(file, RowsOfAStep() * ended_->warmup_steps, RowsOfAStep() * fed_.steps, tune_.model_max_length);
    Set("dataset_tokens_per_second", PerSecond(tokens));
    Set("dataset_tokens_per_second_per_gpu", PerSecond(tokens) / static_cast<double>(ranks_));
    return Status::Ok();
  }

  void AddExactSpeeds() {
    Set("real_tokens_per_second", Rate(counted_.real_tokens));
    Set("supervised_tokens_per_second", Rate(counted_.supervised_tokens));
    Set("samples_per_second_exact", Rate(counted_.samples));
    Set("steps_per_second_exact", Rate(counted_.steps));
    SetCount("measured_steps", counted_.steps);
    Set("measured_seconds", measured_seconds_);
    SetCount("samples", fed_.samples);
    SetCount("real_tokens", fed_.real_tokens);
    SetCount("padded_tokens", fed_.padded_tokens);
    SetCount("supervised_tokens", fed_.supervised_tokens);
  }

  void AddInterval() {
    const measure::MeanEstimate steps =
        measure::RatioInterval(Column(measured_, &job::Step::real_tokens), Column(measured_, &job::Step::seconds));
    if (steps.has_interval()) {
      const double rate = Rate(counted_.real_tokens);
      const double half_width = rate * steps.half_width() / steps.mean;
      Set("real_tokens_per_second_ci_low", std::max(0.0, rate - half_width));
      Set("real_tokens_per_second_ci_high", rate + half_width);
    }
  }

  void AddMemory() {
    const auto largest = [&](int64_t job::Step::* field) {
      const std::vector<double> values = Column(steps_, field);
      return static_cast<int64_t>(*std::max_element(values.begin(), values.end()));
    };
    int64_t peak = ended_->peak_tensor_bytes;
    for (const job::MemoryLedger& ledger : job::EventsOf<job::MemoryLedger>(record_)) {
      peak = ledger.source == "measured" ? std::max(peak, ledger.peak_bytes) : peak;
    }
    SetCount("peak_tensor_bytes", peak);
    if (const int64_t predicted = job::PredictedPeakBytes(record_); predicted > 0) {
      SetCount("predicted_peak_bytes", predicted);
    }
    SetCount("load_peak_tensor_bytes", loaded_->peak_tensor_bytes);
    SetCount("forward_peak_tensor_bytes", largest(&job::Step::forward_peak_bytes));
    SetCount("backward_peak_tensor_bytes", largest(&job::Step::backward_peak_bytes));
    SetCount("optimizer_peak_tensor_bytes", largest(&job::Step::optimizer_peak_bytes));
    SetCount("max_rss_bytes", record_.max_rss_bytes);
  }

  /// Of the time in training, warm-up left out.
  void AddUtilization() {
    const measure::Utilization utilization =
        measure::Summarize(measure::FromColumns(record_.samples), LoadedAt(record_) + ended_->warmup_seconds);
    for (const auto& [name, value] : measure::ToProperties(utilization)) {
      Set(name, value);
    }
    if (utilization.gpu_energy_joules > 0) {
      const auto first = std::min<int64_t>(ended_->warmup_steps, std::ssize(steps_));
      const Counts trained = CountSteps({steps_.begin() + first, steps_.end()});
      Set("tokens_per_joule", static_cast<double>(trained.real_tokens) / utilization.gpu_energy_joules);
    }
  }

  void AddLearning() {
    // A step of the warm-up may have borne none: its loss of 0 says nothing.
    const auto first_trained =
        std::ranges::find_if(steps_, [](const job::Step& step) { return step.supervised_tokens > 0; });
    if (first_trained != steps_.end()) {
      Set("initial_loss", first_trained->loss);
    }
    Set("final_loss", steps_.back().loss);
    // Of a step that the loss scaler skipped there is no norm; a run of such steps alone was refused.
    const auto last_update = std::find_if_not(steps_.rbegin(), steps_.rend(), std::mem_fn(&job::Step::skipped));
    Set("final_grad_norm", last_update->grad_norm);
    SetCount("parameters", loaded_->parameters);
    SetCount("trainable_parameters", loaded_->trainable_parameters);
  }

  void AddSeries() {
    values_.series = record_.samples;
    values_.series["step_seconds"] = Column(steps_, &job::Step::seconds);
    values_.series["loss"] = Losses();
    values_.series["grad_norm"] = Column(steps_, &job::Step::grad_norm);
    values_.series["step_real_tokens"] = Column(steps_, &job::Step::real_tokens);
    values_.series["step_padded_tokens"] = Column(steps_, &job::Step::padded_tokens);
    AddPhaseSeries(record_, values_);
  }

  /// Of each step; not a number where it bore none.
  std::vector<double> Losses() const {
    std::vector<double> losses;
    for (const job::Step& step : steps_) {
      losses.push_back(step.supervised_tokens > 0 ? step.loss : std::nan(""));
    }
    return losses;
  }

  const RunPlan& plan_;
  const job::TunePlan& tune_;
  const job::RunRecord& record_;
  const job::Loaded* loaded_;
  const job::Ended* ended_;
  std::vector<job::Step> steps_;
  std::vector<job::Step> measured_;  ///< after warm-up
  int64_t ranks_;
  double seconds_ = 0;           ///< T
  double measured_seconds_ = 0;  ///< of the measured steps
  Counts fed_;
  Counts counted_;  ///< after warm-up
  Measured values_;
};

}  // namespace

Result<Measured> MeasureFineTuning(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record) {
  ASSAY_ASSIGN_OR_RETURN(FineTuningRun run, FineTuningRun::Of(point, plan, record));
  return run.Values();
}

}  // namespace assay::experiment
