#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

// T0 is the time inside the training loop; T is T0 without the warm-up that auto_stop_method found (else T0).
// clang-format off
const std::vector<TargetSpec>& ReferenceTargets() {
  constexpr Definition kRef = Definition::kReference;
  static const std::vector<TargetSpec> targets = {
      {"is_valid", "", kRef, "1; a point that a rule or memory forbids has the outcome invalid instead"},
      {"train_runtime", "s", kRef, "T", Quantity::kRuntime},
      {"train_samples_per_second", "samples/s", kRef, "planned samples (max_steps x rows of a step, else rows x epochs) / T0; wrong when the run was stopped early"},
      {"train_steps_per_second", "steps/s", kRef, "planned steps / T0; wrong when the run was stopped early"},
      {"dataset_tokens_per_second", "tokens/s", kRef, "tokens of the first N rows in file order, cut to model_max_length, / T, where N is the rows of all steps made (warm-up's taken off); the rows trained on are others, because they are shuffled", Quantity::kThroughput, "dataset tokens/s"},
      {"dataset_tokens_per_second_per_gpu", "tokens/s", kRef, "dataset_tokens_per_second / ranks, each a GPU or what stands in for it"},
      {"train_tokens_per_second", "tokens/s", kRef, "planned tokens, padding included, / T0; left out when stop_after_seconds is above 0, as the reference does", Quantity::kThroughput, "planned tokens/s"},
      {"train_tokens_per_gpu_per_second", "tokens/s", kRef, "train_tokens_per_second / ranks, each a GPU or what stands in for it"},
      {"gpu_compute_utilization_min", "%", kRef, "smallest over GPUs of the mean over time of NVML's utilisation; 0 without a GPU, as all gpu_ properties"},
      {"gpu_compute_utilization_avg", "%", kRef, "mean over GPUs of the same", Quantity::kGpu},
      {"gpu_compute_utilization_max", "%", kRef, "largest over GPUs of the same"},
      {"gpu_memory_utilization_min", "%", kRef, "smallest over GPUs of the mean over time of used / total device memory, other processes included"},
      {"gpu_memory_utilization_avg", "%", kRef, "mean over GPUs of the same"},
      {"gpu_memory_utilization_max", "%", kRef, "largest over GPUs of the same"},
      {"gpu_memory_utilization_peak", "%", kRef, "largest sample of any GPU; a sampled peak, see gpu_memory_peak_bytes and peak_tensor_bytes"},
      {"gpu_power_watts_min", "W", kRef, "smallest over GPUs of the mean over time of the power"},
      {"gpu_power_watts_avg", "W", kRef, "mean over GPUs of the same"},
      {"gpu_power_watts_max", "W", kRef, "largest over GPUs of the same"},
      {"gpu_power_percent_min", "%", kRef, "smallest over GPUs of the mean over time of power / enforced limit"},
      {"gpu_power_percent_avg", "%", kRef, "mean over GPUs of the same"},
      {"gpu_power_percent_max", "%", kRef, "largest over GPUs of the same"},
      {"cpu_compute_utilization", "%", kRef, "mean over time of the CPU use of rank 0's process, without its children; 100 is one core"},
      {"cpu_memory_utilization", "%", kRef, "mean over time of the whole machine's used memory; see max_rss_bytes for the worker's own"},
      {"model_load_time", "s", kRef, "from the worker's main() until model, optimiser and rows are ready"},
      {"training_steps", "steps", kRef, "optimiser steps made", Quantity::kSteps},
  };
  return targets;
}

const std::vector<TargetSpec>& ExactTargets() {
  constexpr Definition kExact = Definition::kExact;
  static const std::vector<TargetSpec> targets = {
      {"real_tokens_per_second", "tokens/s", kExact, "tokens fed in the measured steps, padding not counted, / measured_seconds", Quantity::kThroughput, "real tokens/s"},
      {"real_tokens_per_second_ci_low", "tokens/s", kExact, "lower end of its 95 % interval by batch means over steps; left out below 8 measured steps"},
      {"real_tokens_per_second_ci_high", "tokens/s", kExact, "upper end of it"},
      {"supervised_tokens_per_second", "tokens/s", kExact, "tokens that bear loss, of the measured steps, / measured_seconds"},
      {"samples_per_second_exact", "samples/s", kExact, "rows fed in the measured steps / measured_seconds"},
      {"steps_per_second_exact", "steps/s", kExact, "measured_steps / measured_seconds"},
      {"measured_steps", "steps", kExact, "steps after warm-up: without auto_stop_method all but the first, where there are two or more"},
      {"measured_seconds", "s", kExact, "T, without the first step where it is left out"},
      {"samples", "rows", kExact, "rows fed in the whole run", Quantity::kSamples},
      {"real_tokens", "tokens", kExact, "tokens fed in the whole run", Quantity::kRealTokens},
      {"padded_tokens", "tokens", kExact, "padding that the reference's collator would have added to them; never computed here", Quantity::kPaddedTokens},
      {"supervised_tokens", "tokens", kExact, "tokens that bear loss, of those fed"},
      {"step_seconds_median", "s", kExact, "median time of the measured steps", Quantity::kStepSeconds},
      {"step_seconds_mad", "s", kExact, "median absolute deviation of the same"},
      {"step_seconds_p90", "s", kExact, "90th percentile of the same"},
      {"first_step_seconds", "s", kExact, "time of the run's first step"},
      {"warmup_steps", "steps", kExact, "steps that auto_stop_method left out; 0 without it"},
      {"warmup_seconds", "s", kExact, "their time"},
      {"train_runtime_total", "s", kExact, "T0"},
      {"initial_loss", "", kExact, "loss of the first step that bore any, a mean over its supervised tokens"},
      {"final_loss", "", kExact, "loss of the last step", Quantity::kLoss},
      {"final_grad_norm", "", kExact, "norm of all gradients in the last step that was not skipped for an overflow, before clipping"},
      {"parameters", "", kExact, "of the model with its adapter"},
      {"trainable_parameters", "", kExact, "of these, the ones that are trained"},
      {"peak_tensor_bytes", "B", kExact, "peak of live tensor memory by the counting allocator, over the whole run; the largest of all ranks", Quantity::kPeakTensorMemory},
      {"predicted_peak_bytes", "B", kExact, "the same, foretold before anything was loaded; left out on a GPU"},
      {"load_peak_tensor_bytes", "B", kExact, "the same until the model was ready"},
      {"forward_peak_tensor_bytes", "B", kExact, "the same within the forward passes"},
      {"backward_peak_tensor_bytes", "B", kExact, "the same within the backward passes"},
      {"optimizer_peak_tensor_bytes", "B", kExact, "the same within the optimiser's steps"},
      {"max_rss_bytes", "B", kExact, "the kernel's high-water mark of the worker's resident memory", Quantity::kPeakResidentMemory},
      {"cpu_seconds", "s", kExact, "user and system time of the worker, loading included"},
      {"cpu_compute_tree_utilization", "%", kExact, "mean over time of the CPU use of all ranks and their descendants; 100 is one core", Quantity::kCpu},
      {"cpu_compute_system_utilization", "%", kExact, "mean over time of the whole machine's CPU use; 100 is every core"},
      {"cpu_memory_process_avg_bytes", "B", kExact, "mean over time of the resident memory of rank 0's process"},
      {"cpu_memory_process_peak_bytes", "B", kExact, "high-water mark of the same, as sampled from the kernel while it ran", Quantity::kPeakResidentMemory},
      {"cpu_memory_tree_peak_bytes", "B", kExact, "largest sample of the resident memory of the worker and its descendants"},
      {"cpu_memory_cgroup_peak_bytes", "B", kExact, "largest sample of the control group's memory"},
      {"disk_read_bytes", "B", kExact, "read from storage while training, by all ranks"},
      {"disk_write_bytes", "B", kExact, "written to storage while training, by all ranks"},
      {"gpu_memory_peak_bytes", "B", kExact, "largest sample of any GPU's used memory"},
      {"gpu_energy_joules", "J", kExact, "energy of all GPUs while training, by the driver's counter"},
      {"tokens_per_joule", "tokens/J", kExact, "real tokens of the steps after the warm-up / that energy; left out where none was measured", Quantity::kEnergyEfficiency},
      {"utilization_samples", "", kExact, "samples that the utilisation was made from"},
      {"plan_seconds", "s", kExact, "resolving the model, preparing the data set and hashing, before the worker was started"},
      {"overhead_seconds", "s", kExact, "wall time of the run that was neither loading nor training"},
  };
  return targets;
}
// clang-format on

}  // namespace

const std::vector<TargetSpec>& FineTuningTargets() {
  static const std::vector<TargetSpec> all = [] {
    std::vector<TargetSpec> targets = ReferenceTargets();
    targets.insert(targets.end(), ExactTargets().begin(), ExactTargets().end());
    return targets;
  }();
  return all;
}

}  // namespace assay::experiment
