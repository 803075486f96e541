// Names, defaults and ids stand in stores that people have: none of them may change.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/text.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

constexpr char kFineTuning[] =
    "accelerate_config_fsdp_transformer_layer_cls_to_wrap.None accelerate_config_mixed_precision.no "
    "auto_stop_method.None batch_size bf16.False dataset_id.news-tokens-16384plus-entries-4096 "
    "dataset_image_field.None dataset_kwargs_skip_prepare_dataset.False dataset_text_field.None "
    "distributed_backend.None enable_roce.False fast_kernels.None fast_moe.0 flash_attn.True "
    "fms_hf_tuning_version.2.1.2 fsdp_sharding_strategy.FULL_SHARD fsdp_state_dict_type.FULL_STATE_DICT "
    "fsdp_use_orig_params.True gpu_model.None gradient_accumulation_steps.4 gradient_checkpointing.True "
    "gradient_checkpointing_use_reentrant.False max_steps.-1 memory_budget.None model_max_length model_name "
    "num_train_epochs.1 number_gpus number_nodes.1 number_ranks.1 optim.adamw_torch remove_unused_columns.True seed.42 "
    "stop_after_seconds.-1 threads.0 torch_dtype.bfloat16";

constexpr char kOfLora[] = "lora_alpha.16 lora_dropout.0.05 r.4 target_modules.None";

constexpr char kVit[] =
    "batch_size bucket_mib.None communication_dtype.None gate_steps.3 gradient_accumulation_steps.1 "
    "gradient_checkpointing.True hidden_dim.None learning_rate.0.00005 max_train_steps.20 memory_cap.None "
    "microbatches.None min_chunk_size_m.None model_name no_sync.None number_gpus number_ranks.1 "
    "offload_optim_frac.None offload_param_frac.None overlap.None placement.None plugin pp_size.None precision.None "
    "prefetch.None protocol.fair search_range_m.None seed.42 sequence_parallel.None shard_param_frac.None "
    "shard_ranks.None threads.0 tp_size.None zero_stage.None";

constexpr char kFineTuningTargets[] =
    "backward_peak_tensor_bytes cpu_compute_system_utilization cpu_compute_tree_utilization "
    "cpu_compute_utilization cpu_memory_cgroup_peak_bytes cpu_memory_process_avg_bytes "
    "cpu_memory_process_peak_bytes cpu_memory_tree_peak_bytes cpu_memory_utilization cpu_seconds "
    "dataset_tokens_per_second dataset_tokens_per_second_per_gpu disk_read_bytes disk_write_bytes final_grad_norm "
    "final_loss first_step_seconds forward_peak_tensor_bytes gpu_compute_utilization_avg "
    "gpu_compute_utilization_max gpu_compute_utilization_min gpu_energy_joules gpu_memory_peak_bytes "
    "gpu_memory_utilization_avg gpu_memory_utilization_max gpu_memory_utilization_min gpu_memory_utilization_peak "
    "gpu_power_percent_avg gpu_power_percent_max gpu_power_percent_min gpu_power_watts_avg gpu_power_watts_max "
    "gpu_power_watts_min initial_loss is_valid load_peak_tensor_bytes max_rss_bytes measured_seconds "
    "measured_steps model_load_time optimizer_peak_tensor_bytes overhead_seconds padded_tokens parameters "
    "peak_tensor_bytes plan_seconds predicted_peak_bytes real_tokens real_tokens_per_second "
    "real_tokens_per_second_ci_high "
    "real_tokens_per_second_ci_low samples samples_per_second_exact step_seconds_mad step_seconds_median "
    "step_seconds_p90 steps_per_second_exact supervised_tokens supervised_tokens_per_second tokens_per_joule "
    "train_runtime train_runtime_total train_samples_per_second train_steps_per_second train_tokens_per_gpu_per_second "
    "train_tokens_per_second trainable_parameters training_steps utilization_samples warmup_seconds warmup_steps";

constexpr char kVitTargets[] =
    "all_gather_bus_gb_per_s all_reduce_bus_gb_per_s backward_seconds ceiling_tflops communication_bytes_per_step "
    "communication_seconds cpu_seconds data_seconds exposed_communication_seconds final_loss first_step_seconds "
    "forward_seconds gate_grad_norm_difference gate_grad_norm_tolerance gate_relative_difference gate_tolerance "
    "gated_steps gpu_energy_joules hardware_flops_utilization hardware_tflops host_offload_bytes images_per_joule "
    "images_per_second images_per_second_ci_high images_per_second_ci_low init_peak_tensor_bytes initial_loss "
    "is_valid ledger_activations_bytes ledger_buckets_bytes ledger_gradients_bytes ledger_master_bytes "
    "ledger_moments_bytes ledger_parameters_bytes ledger_temporaries_bytes max_rss_bytes maximum_memory_usage "
    "model_flops_utilization model_load_time model_tflops optimizer_seconds overhead_seconds overlap_percent "
    "parameters peak_tensor_bytes plan_seconds predicted_peak_bytes reduce_scatter_bus_gb_per_s skipped_steps "
    "step_seconds_mad step_seconds_median step_seconds_p90 throughput time_for_steps training_steps warmup_steps";

constexpr char kCheckpointSingle[] =
    "clear_cache.None client keep_checkpoint.False layers operation.save protocol.fair seed.42 steps.5 "
    "sync_files.None threads.0 uri";

constexpr char kCheckpointSharded[] =
    "backend.gloo clear_cache.None client epochs.4 keep_checkpoint.False model operation.save "
    "prefix_epoch.-1 prefix_strategy.default profile.same-region-s3 protocol.fair ranks_per_machine.8 seed.42 "
    "sharding_strategy.full storage.None suffix.None sync_files.None thread_count.1 threads.0 uri world_size";

constexpr char kCheckpointTargets[] =
    "cpu_mem_max cpu_mem_mean cpu_mem_min cpu_mem_n cpu_mem_p50 cpu_mem_p75 cpu_mem_p90 cpu_seconds "
    "cpu_seconds_per_gib cpu_util_max cpu_util_mean cpu_util_min cpu_util_n cpu_util_p50 cpu_util_p75 "
    "cpu_util_p90 is_valid max_rss_bytes memory_beyond_bytes mib_per_s plan_seconds read_requests retries run_seconds "
    "slowest_rank_gb_per_s slowest_rank_seconds_mean span_seconds_ci_high span_seconds_ci_low "
    "span_seconds_mad span_seconds_max span_seconds_mean span_seconds_median span_seconds_min "
    "stall_seconds_median state_bytes write_requests";

constexpr char kOfSingle[] = "mb_per_s time_to_save_one_checkpoint time_to_train";

constexpr char kOfSharded[] =
    "busiest_prefix_requests commit_seconds corrected_save_durations_s files limited_by metadata_bytes "
    "prefixes processing_durations_s requests throughput_mibs";

constexpr char kConnector[] =
    "batch_size cache_limit.None checkpoint_every.6 compression.zstd connector convert_workers.1 dataset_id "
    "learning_rate.0.0002 "
    "lora_alpha.16 lora_dropout.0.05 max_steps.24 method.lora model_max_length model_name number_gpus.0 "
    "number_of_workers.2 "
    "priced_as.scheme r.8 seed.42 "
    "shard_size.64MiB target_modules.None threads.0 torch_dtype.float32 uri";

constexpr char kSingleBenchmark[] = "checkpoint_single_benchmark-v1.0.0";
constexpr char kShardedBenchmark[] = "checkpoint_sharded_benchmark-v1.0.0";
constexpr char kVitBenchmark[] = "vit_plugin_benchmark-v1.0.0";

const Experiment& Named(const char* id) {
  return **FindExperiment(id);
}

/// Required ones by their name, optional ones with their default, in alphabetical order.
std::vector<std::string> PropertiesOf(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const PropertySpec& spec : experiment.properties()) {
    names.push_back(spec.required ? spec.name : spec.name + "." + space::ToString(spec.default_value));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> TargetsOf(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const TargetSpec& target : experiment.targets()) {
    names.push_back(target.name);
  }
  std::ranges::sort(names);
  return names;
}

TEST(NamesTest, PropertiesWithTheirDefaultsStayAsStoresHaveThem) {
  std::vector<std::string> lora = Split(kFineTuning, ' ');
  EXPECT_EQ(PropertiesOf(Named(testing::kFull)), lora);
  std::ranges::copy(Split(kOfLora, ' '), std::back_inserter(lora));
  std::ranges::sort(lora);
  EXPECT_EQ(PropertiesOf(Named(testing::kLora)), lora);
  EXPECT_EQ(PropertiesOf(Named(kVitBenchmark)), Split(kVit, ' '));
  EXPECT_EQ(PropertiesOf(Named(kSingleBenchmark)), Split(kCheckpointSingle, ' '));
  EXPECT_EQ(PropertiesOf(Named(kShardedBenchmark)), Split(kCheckpointSharded, ' '));
  EXPECT_EQ(PropertiesOf(Named("connector_finetune_benchmark-v1.0.0")), Split(kConnector, ' '));
}

TEST(NamesTest, TargetsStayAsStoresHaveThem) {
  EXPECT_EQ(TargetsOf(Named(testing::kFull)), Split(kFineTuningTargets, ' '));
  EXPECT_EQ(TargetsOf(Named(testing::kLora)), Split(kFineTuningTargets, ' '));
  EXPECT_EQ(TargetsOf(Named(kVitBenchmark)), Split(kVitTargets, ' '));
  for (const auto& [id, own] : {std::pair(kSingleBenchmark, kOfSingle), {kShardedBenchmark, kOfSharded}}) {
    std::vector<std::string> names = Split(kCheckpointTargets, ' ');
    std::ranges::copy(Split(own, ' '), std::back_inserter(names));
    std::ranges::sort(names);
    EXPECT_EQ(TargetsOf(Named(id)), names);
  }
}

TEST(NamesTest, IdsOfPointsStayAsStoresHaveThem) {
  const auto lora = BindPoint(Named(testing::kLora), {{"model_name", "smollm2-135m"},
                                                      {"model_max_length", "512"},
                                                      {"batch_size", "4"},
                                                      {"number_gpus", "0"},
                                                      {"r", "8"},
                                                      {"stop_after_seconds", "2.5"},
                                                      {"flash_attn", "False"},
                                                      {"optim", "adamw_torch"}});
  ASSERT_TRUE(lora.ok()) << lora.status().message();
  EXPECT_EQ(lora->entity_id, "batch_size.4-model_max_length.512-model_name.smollm2-135m-number_gpus.0");
  EXPECT_EQ(lora->parameterized_id, "finetune_lora_benchmark-v1.0.0-flash_attn.False-r.8-stop_after_seconds.2.5");
  const auto vit = BindPoint(Named(kVitBenchmark), {{"plugin", "low_level_zero"},
                                                    {"batch_size", "8"},
                                                    {"model_name", "google/vit-base-patch16-224"},
                                                    {"number_gpus", "0"},
                                                    {"zero_stage", "2"},
                                                    {"overlap", "False"},
                                                    {"number_ranks", "2"}});
  ASSERT_TRUE(vit.ok()) << vit.status().message();
  EXPECT_EQ(vit->entity_id, "batch_size.8-model_name.google/vit-base-patch16-224-number_gpus.0-plugin.low_level_zero");
  EXPECT_EQ(vit->parameterized_id, "vit_plugin_benchmark-v1.0.0-number_ranks.2-overlap.False-zero_stage.2");
}

}  // namespace
}  // namespace assay::experiment
