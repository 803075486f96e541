#include "experiment/vit_plugin/vit_plugin.h"

namespace assay::experiment {

// clang-format off
const std::vector<TargetSpec>& VitPluginTargets() {
  constexpr Definition kRef = Definition::kReference;
  constexpr Definition kExact = Definition::kExact;
  static const std::vector<TargetSpec> targets = {
      {"is_valid", "", kRef, "1; a point that a rule, memory or the loss gate forbids has the outcome invalid instead"},
      {"throughput", "images/s", kRef, "ranks x steps x batch_size / time of all measured steps (the reference's text calls it batches/s)", Quantity::kSampleRate},
      {"maximum_memory_usage", "B", kRef, "peak of live tensor memory of rank 0 since its start, initialisation included"},
      {"time_for_steps", "s", kRef, "time of all measured steps; the reference's time for 20 steps", Quantity::kSampleSeconds},
      {"images_per_second", "images/s", kExact, "images of all data ranks after warm-up / their time", Quantity::kThroughput},
      {"images_per_second_ci_low", "images/s", kExact, "lower end of its 95 % interval by batch means over steps; left out below 8 measured steps"},
      {"images_per_second_ci_high", "images/s", kExact, "upper end of it"},
      {"step_seconds_median", "s", kExact, "median time of a measured step", Quantity::kStepSeconds},
      {"step_seconds_mad", "s", kExact, "median absolute deviation of the same"},
      {"step_seconds_p90", "s", kExact, "90th percentile of the same"},
      {"first_step_seconds", "s", kExact, "time of the run's very first step, warm-up included"},
      {"warmup_steps", "steps", kExact, "steps before the measured ones"},
      {"training_steps", "steps", kExact, "measured steps", Quantity::kSteps},
      {"peak_tensor_bytes", "B", kExact, "largest peak of a rank's live tensor memory in the measured steps (protocol published: since its start)", Quantity::kPeakTensorMemory},
      {"init_peak_tensor_bytes", "B", kExact, "largest peak of a rank's live tensor memory before its first step"},
      {"predicted_peak_bytes", "B", kExact, "what the memory ledger predicts for the measured steps"},
      {"ledger_parameters_bytes", "B", kExact, "of rank 0's peak: parameters as the model computes with them"},
      {"ledger_gradients_bytes", "B", kExact, "of the same: gradients"},
      {"ledger_master_bytes", "B", kExact, "of the same: fp32 copies of parameters"},
      {"ledger_moments_bytes", "B", kExact, "of the same: the optimiser's moments"},
      {"ledger_buckets_bytes", "B", kExact, "of the same: buffers of communication"},
      {"ledger_activations_bytes", "B", kExact, "of the same: kept from forward for backward"},
      {"ledger_temporaries_bytes", "B", kExact, "of the same: the rest"},
      {"host_offload_bytes", "B", kExact, "state that a plugin keeps in host memory; on the CPU a part of the peak, on a GPU beside it"},
      {"max_rss_bytes", "B", kExact, "the kernel's high-water mark of resident memory; over ranks the largest", Quantity::kPeakResidentMemory},
      {"data_seconds", "s", kExact, "median over steps of rank 0's time until the batch was there"},
      {"forward_seconds", "s", kExact, "median over steps of rank 0's forward passes"},
      {"backward_seconds", "s", kExact, "median over steps of rank 0's backward passes"},
      {"optimizer_seconds", "s", kExact, "median over steps of rank 0's optimiser"},
      {"communication_seconds", "s", kExact, "mean over ranks and steps of the time of all collectives"},
      {"exposed_communication_seconds", "s", kExact, "that computation was held up by it, queueing included"},
      {"overlap_percent", "%", kExact, "part of the communication that computation hid; left out without communication"},
      {"communication_bytes_per_step", "B", kExact, "payload of rank 0's collectives in a step"},
      {"all_gather_bus_gb_per_s", "GB/s", kExact, "payload x (n - 1) / n / time of rank 0's all-gathers"},
      {"reduce_scatter_bus_gb_per_s", "GB/s", kExact, "the same of its reduce-scatters"},
      {"all_reduce_bus_gb_per_s", "GB/s", kExact, "payload x 2 (n - 1) / n / time of rank 0's all-reduces"},
      {"skipped_steps", "steps", kExact, "measured steps whose gradients overflowed, so that nothing was updated"},
      {"model_tflops", "TFLOP/s", kExact, "3 x forward's floating-point operations of the images / time, over all ranks"},
      {"hardware_tflops", "TFLOP/s", kExact, "the same with what gradient checkpointing computes again: 4 x when every layer is checkpointed", Quantity::kReachedTflops},
      {"ceiling_tflops", "TFLOP/s", kExact, "fastest matrix products of this machine in the same precision, on the threads or GPUs of all ranks, as assay doctor measures them"},
      {"model_flops_utilization", "%", kExact, "MFU: model_tflops / ceiling_tflops", Quantity::kModelFlops},
      {"hardware_flops_utilization", "%", kExact, "HFU: hardware_tflops / ceiling_tflops", Quantity::kHardwareFlops},
      {"initial_loss", "", kExact, "loss of the first step"},
      {"final_loss", "", kExact, "loss of the last step", Quantity::kLoss},
      {"gated_steps", "steps", kExact, "first steps whose losses and gradient norms were compared with Torch DDP in fp32, up to one that was skipped"},
      {"gate_relative_difference", "", kExact, "largest relative difference of their losses"},
      {"gate_tolerance", "", kExact, "what it may be in this precision; beyond it the point is invalid"},
      {"gate_grad_norm_difference", "", kExact, "largest relative difference of their gradient norms"},
      {"gate_grad_norm_tolerance", "", kExact, "what it may be in this precision; beyond it the point is invalid"},
      {"parameters", "", kExact, "of the model"},
      {"cpu_seconds", "s", kExact, "user and system time of the worker, loading included"},
      {"gpu_energy_joules", "J", kExact, "energy of all GPUs while training, by the driver's counter"},
      {"images_per_joule", "images/J", kExact, "measured images / that energy; left out without a GPU", Quantity::kEnergyEfficiency},
      {"model_load_time", "s", kExact, "from the worker's main() until everything was ready"},
      {"plan_seconds", "s", kExact, "before the worker was started"},
      {"overhead_seconds", "s", kExact, "wall time of the run that was neither loading nor training"},
  };
  return targets;
}
// clang-format on

}  // namespace assay::experiment
