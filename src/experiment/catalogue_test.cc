#include "experiment/catalogue.h"

#include <gmock/gmock.h>

#include <set>

#include "base/files.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kFull;
using testing::kLora;

std::vector<std::string> PropertyNames(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const PropertySpec& spec : experiment.properties()) {
    names.push_back(spec.name);
  }
  return names;
}

TEST(CatalogueTest, FindsExperimentsByIdAndHelpsWithMistakes) {
  EXPECT_EQ((*FindExperiment(kFull))->id(), kFull);
  const Status status = FindExperiment("finetune_ful_benchmark-v1.0.0").status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("did you mean 'finetune_full_benchmark-v1.0.0'?"));
}

TEST(CatalogueTest, IdsAreUnique) {
  std::set<std::string> ids;
  for (const Experiment* experiment : AllExperiments()) {
    EXPECT_TRUE(ids.insert(experiment->id()).second);
    EXPECT_FALSE(experiment->description().empty());
  }
}

TEST(CatalogueTest, ThePageNamesEach) {
  const Result<std::string> page = ReadFile(ASSAY_SOURCE_DIR "/docs/experiments.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  for (const Experiment* experiment : AllExperiments()) {
    EXPECT_THAT(*page, HasSubstr("`" + experiment->id() + "`"));
  }
}

TEST(CatalogueTest, EverySpecIsWholeAndConsistent) {
  for (const Experiment* experiment : AllExperiments()) {
    std::set<std::string> names;
    for (const PropertySpec& spec : experiment->properties()) {
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
      EXPECT_FALSE(spec.description.empty()) << spec.name;
      if (!spec.required) {
        const Result<space::Value> canonical = spec.domain.Canonical(spec.default_value);
        ASSERT_TRUE(canonical.ok()) << spec.name;
        EXPECT_EQ(*canonical, spec.default_value) << spec.name << ": the default is not in its canonical form";
      }
      for (const space::Value& value : spec.supported) {
        EXPECT_TRUE(spec.domain.Contains(value)) << spec.name;
      }
    }
    for (const TargetSpec& target : experiment->targets()) {
      EXPECT_TRUE(names.insert(target.name).second) << target.name << " is a property or stands twice";
      EXPECT_FALSE(target.description.empty()) << target.name;
    }
  }
}

// Reference §1.9, by name.
TEST(CatalogueTest, HasEveryPropertyOfTheReference) {
  for (const char* name : {"model_name",
                           "model_max_length",
                           "batch_size",
                           "number_gpus",
                           "gpu_model",
                           "dataset_id",
                           "gradient_checkpointing",
                           "gradient_checkpointing_use_reentrant",
                           "gradient_accumulation_steps",
                           "torch_dtype",
                           "max_steps",
                           "num_train_epochs",
                           "stop_after_seconds",
                           "auto_stop_method",
                           "distributed_backend",
                           "number_nodes",
                           "fms_hf_tuning_version",
                           "enable_roce",
                           "fast_moe",
                           "fast_kernels",
                           "optim",
                           "bf16",
                           "flash_attn",
                           "fsdp_sharding_strategy",
                           "fsdp_state_dict_type",
                           "fsdp_use_orig_params",
                           "accelerate_config_mixed_precision",
                           "accelerate_config_fsdp_transformer_layer_cls_to_wrap",
                           "dataset_text_field",
                           "dataset_image_field",
                           "remove_unused_columns",
                           "dataset_kwargs_skip_prepare_dataset"}) {
    EXPECT_NE(FindProperty(**FindExperiment(kFull), name), nullptr) << name;
    EXPECT_NE(FindProperty(**FindExperiment(kLora), name), nullptr) << name;
  }
  EXPECT_THAT(PropertyNames(**FindExperiment(kLora)),
              AllOf(::testing::Contains("r"), ::testing::Contains("lora_alpha")));
  EXPECT_THAT(PropertyNames(**FindExperiment(kFull)), ::testing::Not(::testing::Contains("r")));
}

// Reference §2.2, by name.
TEST(CatalogueTest, HasEveryTargetOfTheReference) {
  std::set<std::string> names;
  for (const TargetSpec& target : (*FindExperiment(kFull))->targets()) {
    if (target.definition == Definition::kReference) {
      names.insert(target.name);
    }
  }
  for (const char* name : {"is_valid",
                           "train_runtime",
                           "train_samples_per_second",
                           "train_steps_per_second",
                           "train_tokens_per_second",
                           "train_tokens_per_gpu_per_second",
                           "dataset_tokens_per_second",
                           "dataset_tokens_per_second_per_gpu",
                           "gpu_compute_utilization_min",
                           "gpu_compute_utilization_avg",
                           "gpu_compute_utilization_max",
                           "gpu_memory_utilization_min",
                           "gpu_memory_utilization_avg",
                           "gpu_memory_utilization_max",
                           "gpu_memory_utilization_peak",
                           "gpu_power_watts_min",
                           "gpu_power_watts_avg",
                           "gpu_power_watts_max",
                           "gpu_power_percent_min",
                           "gpu_power_percent_avg",
                           "gpu_power_percent_max",
                           "cpu_compute_utilization",
                           "cpu_memory_utilization"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(CatalogueTest, RefusesByNameWhatIsNotSupportedYet) {
  const Experiment& full = **FindExperiment(kFull);
  EXPECT_TRUE(CheckSupported(full, testing::CompletePoint(kFull)).ok());
  const Status roce = CheckSupported(full, testing::CompletePoint(kFull, {{"enable_roce", true}}));
  EXPECT_EQ(roce.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(roce.message(),
            "enable_roce=True is not supported yet by finetune_full_benchmark-v1.0.0: leave it at False");
  EXPECT_THAT(CheckSupported(full, testing::CompletePoint(kFull, {{"optim", std::string("adafactor")}})).message(),
              HasSubstr("choose adamw_torch or adamw_torch_fused or sgd or adagrad or rmsprop or lion_32bit"));
  EXPECT_TRUE(CheckSupported(full, testing::CompletePoint(kFull, {{"flash_attn", false}})).ok());
}

}  // namespace
}  // namespace assay::experiment
