#include <fmt/format.h>

#include "experiment/connector/connector.h"

namespace assay::experiment {
namespace {

/// What is measured of every step.
void AddStepTargets(std::vector<TargetSpec>& targets) {
  for (const char* step : kConnectorSteps) {
    const auto add = [&](const char* name, const char* unit, const std::string& description) {
      targets.push_back({fmt::format("{}_{}", step, name), unit, Definition::kReference, description});
    };
    add("seconds", "s", fmt::format("step {}: total time", step));
    add("cpu_percent", "%", "mean use of the machine's processors in it; 100 is all cores");
    add("memory_percent", "%", "mean use of the machine's memory in it");
    add("gpu_percent", "%", "mean use of the GPU in it; left out on the CPU");
    add("gpu_memory_percent", "%", "mean use of the GPU's memory in it, likewise");
  }
  for (const char* step : job::kStepsOfTheirOwn) {
    targets.push_back({fmt::format("{}_start_seconds", step), "s", Definition::kExact,
                       fmt::format("step {}: from when its process was started until the step began, the program and "
                                   "its libraries loaded; in no other time of it but those until a first batch or a "
                                   "first training step",
                                   step)});
  }
}

}  // namespace

// clang-format off
const std::vector<TargetSpec>& ConnectorTargets() {
  constexpr Definition kRef = Definition::kReference;
  constexpr Definition kExact = Definition::kExact;
  static const std::vector<TargetSpec> targets = [] {
    std::vector<TargetSpec> all = {
        {"is_valid", "", kRef, "1; a point that a rule forbids has the outcome invalid instead"},
        {"objects", "", kRef, "step count: objects of both data sets"},
        {"total_bytes", "B", kRef, "step size: their bytes"},
        {"rows", "", kExact, "of the data set"},
        {"optimise_mb_per_s", "MB/s", kExact, "step optimise: bytes of the rows' file / its time, by convert_workers threads or one process"},
        {"optimise_compressed_mb_per_s", "MB/s", kExact, "step optimise_compressed: the same"},
        {"stream_samples_per_second", "samples/s", kExact, "step stream: samples of the pass / its time, opening included"},
        {"stream_mb_per_s", "MB/s", kExact, "the same of the bytes of the samples' texts"},
        {"stream_compressed_samples_per_second", "samples/s", kExact, "step stream_compressed: the same of the compressed data set"},
        {"stream_compressed_mb_per_s", "MB/s", kExact, "of the bytes of the samples' texts"},
        {"first_batch_seconds", "s", kExact, "step stream: from when its process was started until the first batch_size samples were there; of copies the copy included"},
        {"stream_stall_fraction", "", kExact, "step stream: part of its time that samples were asked for and were not there; left out of libraries, whose loaders do not tell"},
        {"real_tokens_per_second", "tokens/s", kExact, "step fine_tune: tokens fed / time of its steps and of their waiting for checkpoints, without the first step", Quantity::kThroughput, "real tokens/s"},
        {"real_tokens_per_second_ci_low", "tokens/s", kExact, "lower end of its 95 % interval by batch means; left out below 9 steps"},
        {"real_tokens_per_second_ci_high", "tokens/s", kExact, "upper end of it"},
        {"local_real_tokens_per_second", "tokens/s", kExact, "step fine_tune_local: the same, data and checkpoints in folders"},
        {"local_real_tokens_per_second_ci_low", "tokens/s", kExact, "lower end of its interval"},
        {"local_real_tokens_per_second_ci_high", "tokens/s", kExact, "upper end of it"},
        {"bucket_cost_percent", "%", kExact, "by how much a streamed step, with its waiting for a checkpoint, is longer than the local one of the same rows: mean difference / mean local step; the mean of a streamed run before the local one and one behind it"},
        {"bucket_cost_percent_ci_low", "%", kExact, "the lower one of the lower ends of both runs' 95 % intervals by batch means; left out below 9 steps. It holds what the machine drifted by meanwhile"},
        {"bucket_cost_percent_ci_high", "%", kExact, "the upper one of the upper ends"},
        {"real_tokens_per_second_without_checkpoints", "tokens/s", kExact, "tokens / time of the same steps alone"},
        {"real_tokens_per_second_without_stalls", "tokens/s", kExact, "tokens / time of the steps and checkpoints less what was waited for data: what cached data would allow at most"},
        {"stall_fraction", "", kExact, "step fine_tune: part of the steps' time, without the first, that waited for data"},
        {"time_to_first_step", "s", kExact, "step fine_tune: from when its process was started until its first training step had ended"},
        {"resumed_time_to_first_step", "s", kExact, "the same of step resume"},
        {"local_time_to_first_step", "s", kExact, "the same of step fine_tune_local"},
        {"step_seconds_median", "s", kExact, "median time of a training step of step fine_tune, without the first", Quantity::kStepSeconds},
        {"step_seconds_mad", "s", kExact, "median absolute deviation of the same"},
        {"step_seconds_p90", "s", kExact, "90th percentile of the same"},
        {"first_step_seconds", "s", kExact, "time of its first training step alone"},
        {"checkpoints", "", kExact, "that step fine_tune wrote"},
        {"checkpoint_bytes", "B", kExact, "of the last"},
        {"checkpoint_stall_seconds", "s", kExact, "mean time that the training waited for one"},
        {"checkpoint_remote_seconds", "s", kExact, "mean time from its begin until it stood whole at the place, written through where that is a folder"},
        {"checkpoint_local_seconds", "s", kExact, "the same of step fine_tune_local, in a folder, written through"},
        {"read_requests", "", kExact, "GET and HEAD that the store answered, of all steps at the place but fine_tune_again; left out where the connector does not tell, as all below"},
        {"write_requests", "", kExact, "PUT, POST, COPY and LIST likewise; to remove is free"},
        {"retries", "", kExact, "requests that were sent again"},
        {"received_bytes", "B", kExact, "of answers' bodies"},
        {"sent_bytes", "B", kExact, "of requests' bodies"},
        {"requests_usd", "USD", kExact, "what these requests cost by prices/object-storage.yaml; left out, as the next, where the place is at an endpoint of its own and priced_as does not say whose prices hold"},
        {"storage_usd_per_month", "USD", kExact, "what both data sets would cost to keep, by the same"},
        {"data_cpu_seconds_per_sample", "s", kExact, "step fine_tune: processor time of fetching, checking, decoding and tokenising a sample"},
        {"read_amplification", "", kExact, "step fine_tune: bytes received for its data, a copy of all included / bytes of the samples; left out where nothing was received"},
        {"loss_difference", "", kExact, "largest difference of a step's loss of fine_tune from that of fine_tune_local; ours must have 0"},
        {"resumed_loss_difference", "", kExact, "the same of step resume; ours must have 0"},
        {"initial_loss", "", kExact, "loss of the first step"},
        {"final_loss", "", kExact, "loss of the last step", Quantity::kLoss},
        {"max_rss_bytes", "B", kExact, "the kernel's high-water mark of resident memory; left out of libraries, whose loaders are processes of their own", Quantity::kPeakResidentMemory},
        {"cpu_seconds", "s", kExact, "user and system time of the whole test"},
        {"plan_seconds", "s", kExact, "before it was started"},
        {"run_seconds", "s", kExact, "wall time of the whole test", Quantity::kRuntime},
    };
    AddStepTargets(all);
    return all;
  }();
  return targets;
}
// clang-format on

}  // namespace assay::experiment
