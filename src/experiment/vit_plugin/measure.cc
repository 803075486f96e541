#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/vision_models.h"
#include "experiment/measured_values.h"
#include "experiment/phase_series.h"
#include "experiment/property_spec.h"
#include "experiment/vit_plugin/vit_plugin.h"
#include "measure/sample_series.h"
#include "measure/statistics.h"
#include "measure/utilization.h"

namespace assay::experiment {
namespace {

/// Relative differences from the reference.
struct GateDifference {
  double loss = 0;
  double grad_norm = 0;
};

/// What a run may differ by from one in fp32 with everything on every rank, by the coarsest type that it computes or
/// communicates in: ten times what such runs were measured to (fp32: a hundred times, fp8: not measured); see
/// docs/vit-plugins.md.
GateDifference GateTolerance(const job::VitPlan& plan) {
  constexpr GateDifference kFloat32 = {.loss = 1e-5, .grad_norm = 2e-5};
  constexpr GateDifference kFloat16 = {.loss = 0.002, .grad_norm = 0.02};
  constexpr GateDifference kBFloat16 = {.loss = 0.01, .grad_norm = 0.06};
  constexpr GateDifference kFloat8 = {.loss = 0.05, .grad_norm = 0.2};
  const auto uses = [&plan](std::string_view precision, std::string_view communicated) {
    return plan.precision == precision || plan.knobs.communication_dtype == communicated;
  };
  if (uses("fp8", "float8")) {
    return kFloat8;
  }
  if (uses("bf16", "bfloat16") || plan.precision == "amp_bf16") {
    return kBFloat16;
  }
  return uses("fp16", "float16") || plan.precision == "amp_fp16" ? kFloat16 : kFloat32;
}

/// One run, seen as the definitions need it.
class VitRun {
 public:
  VitRun(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record)
      : point_(point),
        plan_(plan),
        vit_(std::get<job::VitPlan>(plan.work)),
        record_(record),
        loaded_(job::FindEvent<job::Loaded>(record)),
        ended_(job::FindEvent<job::Ended>(record)),
        steps_(job::Steps(record)),
        rank_steps_(job::EventsOf<job::RankStep>(record)) {
    if (ended_ != nullptr) {
      const auto counts = [&](const auto& step) { return step.step > ended_->warmup_steps; };
      std::ranges::copy_if(steps_, std::back_inserter(measured_), counts);
      std::erase_if(rank_steps_, [&](const auto& step) { return !counts(step); });
    }
    seconds_ = Sum(Column(measured_, &job::Step::seconds));
  }

  Status Check() const {
    if (loaded_ == nullptr || ended_ == nullptr || measured_.empty() || seconds_ <= 0) {
      return Status::Internal("the run has no measured step: give it more");
    }
    if (const std::string divergence = DescribeDivergence(steps_); !divergence.empty()) {
      return Status::FailedPrecondition(divergence);
    }
    return CheckGate();
  }

  Result<Measured> Values() {
    AddThroughput();
    AddStepTimes(steps_, measured_, values_);
    AddMemory();
    AddPhases();
    AddCollectives();
    ASSAY_RETURN_IF_ERROR(AddFlops());
    AddLearning();
    AddRest();
    AddSeries();
    ASSAY_RETURN_IF_ERROR(CheckFinite(values_));
    AddUnits(VitPluginTargets(), values_);
    return std::move(values_);
  }

 private:
  static double Sum(const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) {
      sum += value;
    }
    return sum;
  }

  void Set(const std::string& name, double value) { values_.properties[name] = value; }
  void SetCount(const std::string& name, int64_t value) { values_.properties[name] = value; }
  double ImagesOfAStep() const { return static_cast<double>(vit_.batch_size * job::DataRanks(vit_)); }
  double MeasuredImages() const { return ImagesOfAStep() * static_cast<double>(measured_.size()); }

  struct Comparison {
    int64_t losses = 0;  ///< that were compared
    int64_t norms = 0;
    GateDifference largest;  ///< relative
  };

  /// A step that was skipped for an overflow has a loss but no norm, and those after it are no longer the reference's.
  Comparison CompareWithReference() const {
    const auto relative = [](double value, double expected) { return std::abs(value - expected) / std::abs(expected); };
    Comparison comparison;
    for (size_t i = 0; i < std::min(plan_.reference_steps.size(), steps_.size()); ++i) {
      const ReferenceStep& expected = plan_.reference_steps[i];
      GateDifference& largest = comparison.largest;
      ++comparison.losses;
      largest.loss = std::max(largest.loss, relative(steps_[i].loss, expected.loss));
      if (steps_[i].skipped) {
        break;
      }
      ++comparison.norms;
      largest.grad_norm = std::max(largest.grad_norm, relative(steps_[i].grad_norm, expected.grad_norm));
    }
    return comparison;
  }

  Status CheckGate() const {
    const Comparison comparison = CompareWithReference();
    const GateDifference allowed = GateTolerance(vit_);
    const auto refuse = [&](std::string_view what, int64_t steps, double difference, double tolerance) {
      return Status::FailedPrecondition(
          fmt::format("the {} of the first {} steps differ from those of Torch DDP in fp32 on the same images by "
                      "{:.2g}, and {} may differ by {:.2g}: this plugin does not train the same model",
                      what, steps, difference, vit_.precision, tolerance));
    };
    if (comparison.largest.loss > allowed.loss) {
      return refuse("losses", comparison.losses, comparison.largest.loss, allowed.loss);
    }
    if (comparison.largest.grad_norm > allowed.grad_norm) {
      return refuse("gradient norms", comparison.norms, comparison.largest.grad_norm, allowed.grad_norm);
    }
    if (comparison.losses > 0 && comparison.norms == 0) {
      return Status::FailedPrecondition(
          "the loss scaler skipped the first step, after which no step is the reference's: nothing shows that this "
          "plugin trains the same model (choose another precision, or gate_steps 0 to do without)");
    }
    return Status::Ok();
  }

  void AddThroughput() {
    const double rate = MeasuredImages() / seconds_;
    SetCount("is_valid", 1);
    SetCount("warmup_steps", ended_->warmup_steps);
    SetCount("training_steps", static_cast<int64_t>(measured_.size()));
    Set("throughput",
        static_cast<double>(job::DataRanks(vit_) * vit_.batch_size) * static_cast<double>(measured_.size()) / seconds_);
    Set("time_for_steps", seconds_);
    Set("images_per_second", rate);
    const std::vector<double> seconds = Column(measured_, &job::Step::seconds);
    const measure::MeanEstimate estimate = measure::BatchMeansInterval(seconds);
    if (estimate.has_interval()) {
      Set("images_per_second_ci_low", ImagesOfAStep() / estimate.interval.high);
      if (estimate.interval.low > 0) {
        Set("images_per_second_ci_high", ImagesOfAStep() / estimate.interval.low);
      }
    }
  }

  void AddMemory() {
    const bool published = vit_.protocol == "published";
    double init = 0;
    double steady = 0;
    for (const job::MemoryLedger& ledger : job::EventsOf<job::MemoryLedger>(record_)) {
      const double peak = static_cast<double>(ledger.peak_bytes);
      if (ledger.source == "predicted") {
        if (ledger.rank == 0 && ledger.phase == "steady") {
          SetCount("predicted_peak_bytes", ledger.peak_bytes);
        }
      } else if (ledger.phase == "init") {
        init = std::max(init, peak);
      } else {
        steady = std::max(steady, peak);
        AddLedger(ledger);
      }
    }
    Set("init_peak_tensor_bytes", init);
    Set("peak_tensor_bytes", published || steady == 0 ? static_cast<double>(ended_->peak_tensor_bytes) : steady);
    SetCount("maximum_memory_usage", ended_->peak_tensor_bytes);
    SetCount("max_rss_bytes", record_.max_rss_bytes);
  }

  void AddLedger(const job::MemoryLedger& ledger) {
    if (ledger.rank != 0) {
      return;
    }
    SetCount("ledger_parameters_bytes", ledger.parameters_bytes);
    SetCount("ledger_gradients_bytes", ledger.gradients_bytes);
    SetCount("ledger_master_bytes", ledger.master_bytes);
    SetCount("ledger_moments_bytes", ledger.moments_bytes);
    SetCount("ledger_buckets_bytes", ledger.buckets_bytes);
    SetCount("ledger_activations_bytes", ledger.activations_bytes);
    SetCount("ledger_temporaries_bytes", ledger.temporaries_bytes);
    SetCount("host_offload_bytes", ledger.host_bytes);
  }

  void AddPhases() {
    std::vector<job::RankStep> first;
    std::ranges::copy_if(rank_steps_, std::back_inserter(first), [](const auto& step) { return step.rank == 0; });
    if (first.empty()) {
      return;
    }
    Set("data_seconds", measure::Median(Column(first, &job::RankStep::data_seconds)));
    Set("forward_seconds", measure::Median(Column(first, &job::RankStep::forward_seconds)));
    Set("backward_seconds", measure::Median(Column(first, &job::RankStep::backward_seconds)));
    Set("optimizer_seconds", measure::Median(Column(first, &job::RankStep::optimizer_seconds)));
    const double communication = measure::Mean(Column(rank_steps_, &job::RankStep::communication_seconds));
    const double exposed = measure::Mean(Column(rank_steps_, &job::RankStep::exposed_communication_seconds));
    Set("communication_seconds", communication);
    Set("exposed_communication_seconds", exposed);
    if (communication > 0) {
      const double hidden = measure::Mean(Column(rank_steps_, &job::RankStep::hidden_communication_seconds));
      Set("overlap_percent", 100 * hidden / communication);
    }
    SetCount("skipped_steps", std::ranges::count_if(first, [](const auto& step) { return step.skipped; }));
  }

  /// As nccl-tests define it: what a link carries, whatever the number of ranks.
  static double BusFactor(const std::string& operation, double ranks) {
    if (operation == "all_reduce") {
      return 2 * (ranks - 1) / ranks;
    }
    return operation == "all_gather" || operation == "reduce_scatter" ? (ranks - 1) / ranks : 1;
  }

  void AddCollectives() {
    struct Totals {
      double bus_bytes = 0;
      double seconds = 0;
    };
    std::map<std::string, Totals> totals;
    double bytes = 0;
    for (const job::CollectiveTotals& row : job::EventsOf<job::CollectiveTotals>(record_)) {
      if (row.rank == 0) {
        const double payload = static_cast<double>(row.payload_bytes);
        bytes += payload;
        Totals& total = totals[row.operation];
        total.bus_bytes += payload * BusFactor(row.operation, static_cast<double>(row.group_size));
        total.seconds += row.seconds;
      }
    }
    Set("communication_bytes_per_step", bytes / static_cast<double>(measured_.size()));
    for (const char* operation : {"all_gather", "reduce_scatter", "all_reduce"}) {
      const Totals& total = totals[operation];
      if (total.seconds > 0 && total.bus_bytes > 0) {
        Set(fmt::format("{}_bus_gb_per_s", operation), total.bus_bytes / total.seconds / 1e9);
      }
    }
  }

  Status AddFlops() {
    ASSAY_ASSIGN_OR_RETURN(const data::VisionModelRef model, data::ResolveVisionModel(vit_.model_dir, ""));
    constexpr double kTera = 1e12;
    const double forward = model.shape.forward_flops() * MeasuredImages() / seconds_ / kTera;
    // The layers are all but everything of a forward pass, and a checkpointed one runs twice.
    const double again = loaded_->layers > 0
                             ? static_cast<double>(loaded_->checkpointed_layers) / static_cast<double>(loaded_->layers)
                             : 0;
    Set("model_tflops", 3 * forward);
    Set("hardware_tflops", (3 + again) * forward);
    if (plan_.ceiling_tflops > 0) {
      Set("ceiling_tflops", plan_.ceiling_tflops);
      Set("model_flops_utilization", 100 * 3 * forward / plan_.ceiling_tflops);
      Set("hardware_flops_utilization", 100 * (3 + again) * forward / plan_.ceiling_tflops);
    }
    return Status::Ok();
  }

  void AddLearning() {
    Set("initial_loss", steps_.front().loss);
    Set("final_loss", steps_.back().loss);
    if (!plan_.reference_steps.empty()) {
      const Comparison comparison = CompareWithReference();
      const GateDifference allowed = GateTolerance(vit_);
      SetCount("gated_steps", comparison.norms);
      Set("gate_relative_difference", comparison.largest.loss);
      Set("gate_tolerance", allowed.loss);
      Set("gate_grad_norm_difference", comparison.largest.grad_norm);
      Set("gate_grad_norm_tolerance", allowed.grad_norm);
    }
    SetCount("parameters", loaded_->parameters);
  }

  void AddRest() {
    Set("cpu_seconds", record_.cpu_seconds);
    Set("model_load_time", loaded_->seconds);
    Set("plan_seconds", plan_.seconds);
    Set("overhead_seconds", record_.overhead_seconds);
    if (IntegerOf(point_, "number_gpus") == 0) {
      return;
    }
    const measure::Utilization use = measure::Summarize(measure::FromColumns(record_.samples), LoadedAt(record_));
    Set("gpu_energy_joules", use.gpu_energy_joules);
    if (use.gpu_energy_joules > 0) {
      Set("images_per_joule", ImagesOfAStep() * static_cast<double>(steps_.size()) / use.gpu_energy_joules);
    }
  }

  void AddSeries() {
    values_.series = record_.samples;
    values_.series["step_seconds"] = Column(measured_, &job::Step::seconds);
    values_.series["loss"] = Column(steps_, &job::Step::loss);
    values_.series["grad_norm"] = Column(steps_, &job::Step::grad_norm);
    values_.series["reference_loss"] = Column(plan_.reference_steps, &ReferenceStep::loss);
    values_.series["reference_grad_norm"] = Column(plan_.reference_steps, &ReferenceStep::grad_norm);
    AddPhaseSeries(record_, values_);
  }

  const space::Entity& point_;
  const RunPlan& plan_;
  const job::VitPlan& vit_;
  const job::RunRecord& record_;
  const job::Loaded* loaded_;
  const job::Ended* ended_;
  std::vector<job::Step> steps_;
  std::vector<job::Step> measured_;        ///< after warm-up
  std::vector<job::RankStep> rank_steps_;  ///< after warm-up, of all ranks
  double seconds_ = 0;                     ///< of the measured steps
  Measured values_;
};

}  // namespace

Result<Measured> MeasureVitPlugin(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record) {
  VitRun run(point, plan, record);
  ASSAY_RETURN_IF_ERROR(run.Check());
  return run.Values();
}

}  // namespace assay::experiment
