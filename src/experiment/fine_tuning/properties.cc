#include <fmt/format.h>

#include <algorithm>

#include "data/datasets.h"
#include "data/model_catalogue.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/training_ranks.h"

namespace assay::experiment {
namespace {

using space::Domain;
using space::Value;

Value Int(int64_t value) {
  return value;
}
Value Text(const char* text) {
  return std::string(text);
}

Domain Optimizers() {
  return Texts({"adamw_hf",
                "adamw_torch",
                "adamw_torch_fused",
                "adamw_torch_xla",
                "adamw_torch_npu_fused",
                "adamw_apex_fused",
                "adafactor",
                "adamw_anyprecision",
                "adamw_torch_4bit",
                "ademamix",
                "sgd",
                "adagrad",
                "adamw_bnb_8bit",
                "adamw_8bit",
                "ademamix_8bit",
                "lion_8bit",
                "lion_32bit",
                "paged_adamw_32bit",
                "paged_adamw_8bit",
                "paged_ademamix_32bit",
                "paged_ademamix_8bit",
                "paged_lion_32bit",
                "paged_lion_8bit",
                "rmsprop",
                "rmsprop_bnb",
                "rmsprop_bnb_8bit",
                "rmsprop_bnb_32bit",
                "galore_adamw",
                "galore_adamw_8bit",
                "galore_adafactor",
                "galore_adamw_layerwise",
                "galore_adamw_8bit_layerwise",
                "galore_adafactor_layerwise",
                "lomo",
                "adalomo",
                "grokadamw",
                "schedule_free_adamw",
                "schedule_free_sgd"});
}

/// Loss, RMSNorm and RoPE kernels, each on or off.
Domain FastKernels() {
  return TextsOrNone({"True,True,True", "True,True,False", "True,False,True", "True,False,False", "False,True,True",
                      "False,True,False", "False,False,True", "False,False,False"});
}

bool IsModelName(std::string_view text) {
  const auto models = data::ModelCatalogue();
  return std::any_of(models.begin(), models.end(), [&](const data::CatalogueModel& m) { return m.name == text; });
}

template <auto kField>
Status TuneField(const Value& value, job::TunePlan& plan) {
  return Field<job::TunePlan, kField>(value, plan);
}

Status TakeSteps(const Value& value, job::TunePlan& plan) {
  Assign(value, plan.max_steps);
  plan.max_steps = plan.max_steps > 0 ? plan.max_steps : -1;
  return Status::Ok();
}

Status TakeTimeLimit(const Value& value, job::TunePlan& plan) {
  Assign(value, plan.stop_after_seconds);
  return Status::Ok();
}

void AddRequired(std::vector<TuneProperty>& specs) {
  specs.push_back(
      {As({.label = "model", .stands_alone = true, .role = Role::kModel},
          NameOrPath(Required("model_name", Domain::AnyText(),
                              "a name of the catalogue (assay model list lists them), or a Hugging Face model folder"),
                     &IsModelName))});
  specs.push_back({As({.label = "max length", .role = Role::kLength},
                      Required("model_max_length", Integers(1, 131073), "rows are cut to this many tokens", "tokens")),
                   &TuneField<&job::TunePlan::model_max_length>});
  specs.push_back(
      {As({.label = "batch size", .role = Role::kBatchSize},
          Required("batch_size", Integers(1, 4097), "rows in a micro-batch, over all ranks together", "rows")),
       &TuneField<&job::TunePlan::batch_size>});
  specs.push_back(
      {As({.label = "GPUs", .role = Role::kGpus},
          Required("number_gpus", Integers(0, 33), "a rank for each; 0 runs on the CPU, with number_ranks ranks")),
       &DeviceOfGpus<job::TunePlan>});
}

void AddTraining(std::vector<TuneProperty>& specs) {
  specs.push_back({As({.label = "GPU model", .role = Role::kMachine},
                      Optional("gpu_model", Domain::AnyTextOrNone(), kNone,
                               "the GPU's product name, for example NVIDIA-A100-SXM4-80GB; needed when number_gpus is "
                               "above 0"))});
  specs.push_back({As({.label = "data set", .stands_alone = true, .role = Role::kDataset},
                      NameOrPath(Optional("dataset_id", Domain::AnyText(), Text("news-tokens-16384plus-entries-4096"),
                                          "a data set by id (see docs/data.md), or a JSONL file"),
                                 &data::IsKnownDataset))});
  specs.push_back(
      {As({.label = "checkpointing"},
          Optional("gradient_checkpointing", Domain::Binary(), true,
                   "keep only the inputs of decoder layers, and compute the rest again in the backward pass")),
       &CheckpointedField<job::TunePlan>});
  specs.push_back({As({.label = "accumulation"}, Optional("gradient_accumulation_steps", Integers(1, 33), Int(4),
                                                          "micro-batches in an optimiser step")),
                   &TuneField<&job::TunePlan::gradient_accumulation_steps>});
  specs.push_back({As({.label = "dtype", .stands_alone = true},
                      Optional("torch_dtype", Texts({"bfloat16", "float16", "float32"}), Text("bfloat16"),
                               "of parameters, activations and optimiser states")),
                   &TuneField<&job::TunePlan::dtype>});
  specs.push_back({Optional("max_steps", Integers(-1, 10001), Int(-1),
                            "optimiser steps; below 1: num_train_epochs decides", "steps"),
                   &TakeSteps});
  specs.push_back({Optional("num_train_epochs", Integers(1, 10001), Int(1), "passes over the data set", "epochs"),
                   &TuneField<&job::TunePlan::num_train_epochs>});
  specs.push_back({As({.role = Role::kTimeLimit},
                      Optional("stop_after_seconds", *Domain::Range(-1, 1000001, std::nullopt), Int(-1),
                               "end the run after the step in which this time is exceeded; 0 or less: never", "s")),
                   &TakeTimeLimit});
  specs.push_back({Optional("auto_stop_method", TextsOrNone({"WARMUP_60S_STABLE_120S_OR_10_STEPS"}), kNone,
                            "leave out 60 s of warm-up, then measure for 120 s and at least 10 steps"),
                   &TuneField<&job::TunePlan::auto_stop_method>});
  specs.push_back({As({.label = "optimiser", .stands_alone = true},
                      Supporting(Optional("optim", Optimizers(), Text("adamw_torch"), "the optimiser"),
                                 {Text("adamw_torch"), Text("adamw_torch_fused"), Text("sgd"), Text("adagrad"),
                                  Text("rmsprop"), Text("lion_32bit")})),
                   &TuneField<&job::TunePlan::optimizer>});
  specs.push_back(
      {Optional("flash_attn", Domain::Binary(), true,
                "accepted for the reference's spaces: attention is always this program's own fused kernel")});
}

void AddDistribution(std::vector<TuneProperty>& specs) {
  specs.push_back({NumberOfRanks()});
  specs.push_back({Optional("distributed_backend", TextsOrNone({"FSDP", "DDP"}), kNone,
                            "how two ranks or more share the work; None is FSDP")});
  specs.push_back({As({.label = "nodes", .role = Role::kMachine},
                      Optional("number_nodes", Integers(1, 9), Int(1),
                               "machines; with number_gpus 0 groups of ranks of this one stand in for them"))});
  specs.push_back({DefaultOnly("enable_roce", Domain::Binary(), false, "let NCCL use RDMA over Ethernet")});
  specs.push_back({Optional("fsdp_sharding_strategy",
                            Texts({"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"}),
                            Text("FULL_SHARD"), "what FSDP shards; HYBRID_ within a machine")});
  specs.push_back(
      {Optional("fsdp_state_dict_type", Texts({"FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"}),
                Text("FULL_STATE_DICT"), "how FSDP saves; a benchmark saves nothing")});
  specs.push_back(
      {DefaultOnly("fsdp_use_orig_params", Domain::Binary(), true, "FSDP keeps the parameters as they are")});
  specs.push_back({Optional("accelerate_config_mixed_precision", Texts({"no", "fp16", "bf16", "fp8"}), Text("no"),
                            "mixed precision of accelerate; only what torch_dtype is already")});
  specs.push_back({Optional("accelerate_config_fsdp_transformer_layer_cls_to_wrap", Domain::AnyTextOrNone(), kNone,
                            "layer classes that FSDP wraps, with commas between them; None: the model's decoder layer, "
                            "which is the only one that can be named")});
}

void AddReferenceSoftware(std::vector<TuneProperty>& specs) {
  specs.push_back({DefaultOnly("gradient_checkpointing_use_reentrant", Domain::Binary(), false,
                               "which of torch's two implementations recomputes")});
  specs.push_back({DefaultOnly("fms_hf_tuning_version",
                               Texts({"2.0.1", "2.1.0", "2.1.1", "2.1.2", "2.2.1", "2.3.1", "2.4.0", "2.5.0", "2.6.0",
                                      "2.7.1", "2.8.2", "3.0.0", "3.0.0.1", "3.1.0"}),
                               Text("2.1.2"), "the version of the reference's trainer; says nothing here")});
  specs.push_back({DefaultOnly("fast_moe", Integers(0, 33), Int(0), "ranks that share the experts; 0: off")});
  specs.push_back({DefaultOnly("fast_kernels", FastKernels(), kNone,
                               "the reference's fused loss, RMSNorm and RoPE kernels; ours are always fused")});
  specs.push_back(
      {DefaultOnly("bf16", Domain::Binary(), false, "automatic mixed precision of the reference's trainer")});
  specs.push_back({Supporting(Optional("dataset_text_field", TextsOrNone({"output", "messages"}), kNone,
                                       "the field of a row that holds its text; None is output"),
                              {kNone, Text("output")})});
  specs.push_back({DefaultOnly("dataset_image_field", TextsOrNone({"images"}), kNone, "the field that holds images")});
  specs.push_back({DefaultOnly("remove_unused_columns", Domain::Binary(), true, "drop what the model does not take")});
  specs.push_back({DefaultOnly("dataset_kwargs_skip_prepare_dataset", Domain::Binary(), false,
                               "leave the preparation of rows to the collator")});
}

void AddOwn(std::vector<TuneProperty>& specs) {
  specs.push_back({Own(Optional("memory_budget", Domain::AnyTextOrNone(), kNone,
                                "a rank's tensor memory beyond it is an out-of-memory outcome, for example 4GiB")),
                   &BytesField<job::TunePlan, &job::TunePlan::memory_budget_bytes>});
  specs.push_back(
      {Own(Optional("seed", Integers(0, int64_t{1} << 31), Int(42), "of the row order, dropout and new weights")),
       &TuneField<&job::TunePlan::seed>});
  specs.push_back({Own(Optional("threads", Integers(0, 1025), Int(0),
                                "CPU threads a rank; 0: its share of those that may be used")),
                   &TuneField<&job::TunePlan::threads>});
}

}  // namespace

const std::vector<TuneProperty>& FineTuningProperties() {
  static const std::vector<TuneProperty> properties = [] {
    std::vector<TuneProperty> specs;
    AddRequired(specs);
    AddTraining(specs);
    AddDistribution(specs);
    AddReferenceSoftware(specs);
    AddOwn(specs);
    return specs;
  }();
  return properties;
}

}  // namespace assay::experiment
