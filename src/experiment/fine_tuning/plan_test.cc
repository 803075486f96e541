#include <gmock/gmock.h>

#include "base/files.h"
#include "data/token_file.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kFull;
using testing::kGptqLora;
using testing::kLora;

class FineTuningPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("plan");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    ASSERT_TRUE(MakeDirectories(Path("model")).ok());
    Write("model/config.json", R"({"model_type": "llama", "vocab_size": 100})");
    Write("rows.jsonl",
          "{\"input_ids\": [1, 2, 3], \"labels\": [-100, 2, 3]}\n{\"input_ids\": [4, 5], \"labels\": [4, 5]}\n");
    context_ = {.share_dir = ASSAY_SOURCE_DIR "/share", .cache_dir = Path("cache"), .threads = 0};
  }

  std::string Path(const std::string& name) const { return directory_->path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }

  /// A point on the files of this test.
  space::Entity Point(const std::string& id, space::Entity changes = {}) {
    changes.try_emplace("model_name", Path("model"));
    changes.try_emplace("dataset_id", Path("rows.jsonl"));
    return testing::CompletePoint(id, changes);
  }

  job::TunePlan Tune(const std::string& id, const space::Entity& changes = {}) {
    return std::get<job::TunePlan>(Plan(id, changes).work);
  }
  RunPlan Plan(const std::string& id, const space::Entity& changes = {}) {
    auto plan = (*FindExperiment(id))->Plan(Point(id, changes), context_);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? *std::move(plan) : RunPlan();
  }

  Status InputError(const space::Entity& changes) {
    const Experiment& full = **FindExperiment(kFull);
    const Status status = full.CheckInputs(Point(kFull, changes), context_);
    EXPECT_EQ(full.Plan(Point(kFull, changes), context_).status().message(), status.message());
    return status;
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  PlanContext context_;
};

TEST_F(FineTuningPlanTest, PutsTheReferencesConstantsIntoThePlan) {
  const job::TunePlan plan = Tune(kFull);
  EXPECT_EQ(plan.method, "full");
  EXPECT_EQ(plan.model_dir, Path("model"));
  EXPECT_DOUBLE_EQ(plan.learning_rate, 1e-5);
  EXPECT_DOUBLE_EQ(plan.warmup_ratio, 0.03);
  EXPECT_EQ(plan.lr_scheduler_type, "cosine");
  EXPECT_EQ(plan.weight_decay, 0);
  EXPECT_TRUE(plan.shuffle);
  EXPECT_EQ(plan.batch_size, 4);
  EXPECT_EQ(plan.gradient_accumulation_steps, 4);
  EXPECT_EQ(plan.gradient_checkpointing, "on");
  EXPECT_EQ(plan.dtype, "bfloat16");
  EXPECT_EQ(plan.max_steps, -1);
  EXPECT_EQ(plan.num_train_epochs, 1);
  EXPECT_LT(plan.stop_after_seconds, 0);
  EXPECT_EQ(plan.auto_stop_method, "");
  EXPECT_EQ(plan.device, "cpu");
  EXPECT_EQ(plan.save, "none");
}

TEST_F(FineTuningPlanTest, RanksLeaveTheirTraceWhereItIsAskedFor) {
  EXPECT_EQ(Tune(kFull).trace_dir, "");
  context_.trace_dir = Path("traces");
  EXPECT_EQ(Tune(kFull).trace_dir, Path("traces"));
}

TEST_F(FineTuningPlanTest, CarriesThePointsValues) {
  const job::TunePlan plan = Tune(kFull, {{"torch_dtype", std::string("float32")},
                                          {"max_steps", int64_t{7}},
                                          {"stop_after_seconds", 2.5},
                                          {"gradient_accumulation_steps", int64_t{2}},
                                          {"gradient_checkpointing", false},
                                          {"optim", std::string("sgd")},
                                          {"memory_budget", std::string("1.5GiB")},
                                          {"seed", int64_t{9}},
                                          {"threads", int64_t{3}}});
  EXPECT_EQ(plan.dtype, "float32");
  EXPECT_EQ(plan.max_steps, 7);
  EXPECT_DOUBLE_EQ(plan.stop_after_seconds, 2.5);
  EXPECT_EQ(plan.gradient_accumulation_steps, 2);
  EXPECT_EQ(plan.gradient_checkpointing, "off");
  EXPECT_EQ(plan.optimizer, "sgd");
  EXPECT_EQ(plan.memory_budget_bytes, int64_t{3} << 29);
  EXPECT_EQ(plan.seed, 9U);
  EXPECT_EQ(plan.threads, 3);
}

TEST_F(FineTuningPlanTest, RanksShareTheBatchByThePluginOfTheirBackend) {
  EXPECT_EQ(Tune(kFull).plugin, "torch_ddp");
  const job::TunePlan plan = Tune(kFull, {{"number_ranks", int64_t{2}}});
  EXPECT_EQ(plan.number_ranks, 2);
  EXPECT_EQ(plan.batch_size, 2);
  EXPECT_EQ(plan.plugin, "FULL_SHARD") << "as the reference, where nothing is said";
  EXPECT_EQ(plan.knobs.prefetch, (*job::FindPlugin("FULL_SHARD"))->defaults.prefetch);
  EXPECT_EQ(Tune(kLora, {{"number_ranks", int64_t{2}}, {"distributed_backend", std::string("DDP")}}).plugin,
            "torch_ddp");
  EXPECT_EQ(
      Tune(kFull, {{"number_ranks", int64_t{2}}, {"fsdp_sharding_strategy", std::string("HYBRID_SHARD_ZERO2")}}).plugin,
      "_HYBRID_SHARD_ZERO2");
}

TEST_F(FineTuningPlanTest, GpusOfSeveralMachinesAreForALauncherThatHasThem) {
  const space::Entity changes = {{"number_gpus", int64_t{8}},
                                 {"batch_size", int64_t{8}},
                                 {"gpu_model", std::string("NVIDIA-A100-SXM4-80GB")},
                                 {"number_nodes", int64_t{2}}};
  const Status here = InputError(changes);
  EXPECT_EQ(here.code(), ErrorCode::kInvalidArgument) << "nothing is to be remembered of what a launcher cannot";
  EXPECT_THAT(here.message(), HasSubstr("number_nodes is 2, but ranks are to start on this machine alone"));
  context_.elsewhere = "a cluster";
  const job::TunePlan plan = Tune(kFull, changes);
  EXPECT_EQ(plan.device, "cuda");
  EXPECT_EQ(plan.number_ranks, 8);
  EXPECT_EQ(plan.number_nodes, 2);
}

TEST_F(FineTuningPlanTest, FsdpWrapsTheDecoderLayersOfThisFamilyAlone) {
  const auto status = [&](const char* layer) {
    const space::Entity point = Point(
        kFull,
        {{"number_ranks", int64_t{2}}, {"accelerate_config_fsdp_transformer_layer_cls_to_wrap", std::string(layer)}});
    return (*FindExperiment(kFull))->Plan(point, context_).status();
  };
  EXPECT_TRUE(status("LlamaDecoderLayer").ok());
  EXPECT_EQ(status("GPTBigCodeBlock").code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status("GraniteDecoderLayer").message(), HasSubstr("is a LlamaDecoderLayer: name that"));
}

TEST_F(FineTuningPlanTest, LoraHasTheReferencesAdapter) {
  const job::TunePlan plan = Tune(kLora);
  EXPECT_EQ(plan.method, "lora");
  EXPECT_EQ(plan.lora.rank, 4);
  EXPECT_EQ(plan.lora.alpha, 16);
  EXPECT_DOUBLE_EQ(plan.lora.dropout, 0.05);
  EXPECT_EQ(Tune(kLora, {{"lora_dropout", int64_t{0}}}).lora.dropout, 0);
  EXPECT_THAT(plan.lora.target_modules, ElementsAre("q_proj", "v_proj"));
  EXPECT_THAT(Tune(kLora, {{"target_modules", std::string("k_proj,o_proj")}}).lora.target_modules,
              ElementsAre("k_proj", "o_proj"));
}

TEST_F(FineTuningPlanTest, GptqLoraIsLoraOnWeightsOfFewBits) {
  for (const char* id : {kGptqLora, "finetune_gptq-lora_benchmark-v1.0.0"}) {
    const RunPlan run = Plan(id);
    const auto& plan = std::get<job::TunePlan>(run.work);
    EXPECT_EQ(plan.method, "lora");
    EXPECT_EQ(plan.quantize_bits, 4);
    EXPECT_EQ(plan.dtype, "float16");
    EXPECT_THAT(plan.lora.target_modules, ElementsAre("q_proj", "v_proj"));
    EXPECT_EQ(run.provenance.at("weights"), "random, rounded to 4 bits");
  }
  EXPECT_EQ(Tune(kGptqLora, {{"bits", int64_t{8}}}).quantize_bits, 8);
}

TEST_F(FineTuningPlanTest, AQuantisedModelKeepsItsBits) {
  Write("model/config.json", R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96,
      "num_hidden_layers": 1, "num_attention_heads": 2, "quantization_config": {"quant_method": "gptq", "bits": 8}})");
  EXPECT_EQ(Tune(kGptqLora, {{"bits", int64_t{8}}}).quantize_bits, 0);
  const auto other = (*FindExperiment(kGptqLora))->Plan(Point(kGptqLora), context_);
  EXPECT_EQ(other.status().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("have 8 bits, not 4: set bits to 8"));
}

TEST_F(FineTuningPlanTest, QuantisedWeightsAreForOneRank) {
  const Experiment& experiment = **FindExperiment(kGptqLora);
  EXPECT_TRUE(experiment.Check(Point(kGptqLora)).valid());
  EXPECT_THAT(experiment.Check(Point(kGptqLora, {{"number_ranks", int64_t{2}}})).reason,
              HasSubstr("trained on one rank only"));
}

TEST_F(FineTuningPlanTest, PreparesTheDataAndSaysWhatItIs) {
  const RunPlan plan = Plan(kFull);
  const auto file = data::TokenFile::Open(std::get<job::TunePlan>(plan.work).tokens_file);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->rows(), 2);
  EXPECT_EQ(plan.provenance.at("model"), Path("model"));
  EXPECT_EQ(plan.provenance.at("weights"), "random");
  EXPECT_EQ(plan.provenance.at("data_hash").size(), 64U);
  EXPECT_EQ(plan.provenance.at("model_hash").size(), 64U);
  EXPECT_GT(plan.seconds, 0);
}

// Whether the run feeds them is told by its steps.
TEST_F(FineTuningPlanTest, ARowWithoutLossIsNoReasonNotToRun) {
  Write("rows.jsonl",
        "{\"input_ids\": [1, 2, 3], \"labels\": [-100, 2, 3]}\n"
        "{\"input_ids\": [1, 2, 3, 4], \"labels\": [-100, -100, -100, 4]}\n");
  EXPECT_EQ(Tune(kFull, {{"model_max_length", int64_t{3}}}).model_max_length, 3);
}

TEST_F(FineTuningPlanTest, WhatFitsIsAskedOfTheOptimizer) {
  // 2.1e9 parameters beside 20 GiB: with SGD in bfloat16 4 bytes each, with AdamW in float32 16.
  constexpr int64_t kMemory = int64_t{20} << 30;
  Write("model/config.json", R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 4096,
      "intermediate_size": 16384, "num_hidden_layers": 8, "num_attention_heads": 32})");
  const space::Entity point = Point(kFull);
  job::TunePlan plan;
  plan.method = "full";
  plan.device = "cpu";
  plan.dtype = "float32";
  EXPECT_EQ(CheckModelFits(point, plan, context_, kMemory).code(), ErrorCode::kOutOfMemory);
  plan.dtype = "bfloat16";
  plan.optimizer = "sgd";
  EXPECT_TRUE(CheckModelFits(point, plan, context_, kMemory).ok());
}

TEST_F(FineTuningPlanTest, RefusesInputsThatAreNotThere) {
  EXPECT_EQ(InputError({{"model_name", std::string("/nonexistent/model")}}).code(), ErrorCode::kNotFound);
  EXPECT_THAT(InputError({{"model_name", std::string("smolm2-135m")}}).message(),
              HasSubstr("did you mean 'smollm2-135m'?"));
  EXPECT_THAT(InputError({{"dataset_id", Path("none.jsonl")}}).message(), HasSubstr("there is no data file"));
  EXPECT_FALSE(InputError({{"dataset_id", std::string("news-chars-512-entries-1")}}).ok());
  EXPECT_THAT(InputError({{"memory_budget", std::string("lots")}}).message(), HasSubstr("memory_budget"));
}

TEST_F(FineTuningPlanTest, RefusesWhatIsNotSupportedYet) {
  EXPECT_EQ(InputError({{"bf16", true}}).code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace assay::experiment
