#include "job/vit_plan.h"

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "job/plan.h"

namespace assay::job {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Differs from the default in every field.
VitPlan UnusualVitPlan() {
  VitPlan plan;
  plan.model_dir = "/models/vit";
  plan.num_labels = 3;
  plan.train_file = "/data/train.images";
  plan.eval_file = "/data/validation.images";
  plan.synthetic = true;
  plan.synthetic_labels = 7;
  plan.image_mean = {0.1, 0.2, 0.3};
  plan.image_std = {0.4, 0.5, 0.6};
  plan.shuffle = false;
  plan.plugin = "gemini";
  plan.knobs = {.zero_stage = 2,
                .bucket_mib = 12,
                .overlap = false,
                .no_sync = true,
                .prefetch = 2,
                .min_chunk_size_m = 2.5,
                .search_range_m = 4,
                .hidden_dim = 768,
                .shard_param_frac = 0.5,
                .offload_optim_frac = 0.25,
                .offload_param_frac = 0.75,
                .placement = "auto",
                .tp_size = 2,
                .sequence_parallel = true,
                .pp_size = 4,
                .microbatches = 8,
                .shard_ranks = 2,
                .communication_dtype = "float8"};
  plan.data_uri = "s3://bucket/set";
  plan.data_fingerprint = "b2";
  plan.data_cache = "/cache";
  plan.data_cache_bytes = 1 << 20;
  plan.data_threads = 5;
  plan.number_ranks = 8;
  plan.number_nodes = 2;
  plan.batch_size = 32;
  plan.gradient_accumulation_steps = 2;
  plan.precision = "amp_bf16";
  plan.loss_scale = 32;
  plan.gradient_checkpointing = "on";
  plan.optimizer = "sgd";
  plan.learning_rate = 5e-5;
  plan.weight_decay = 0;
  plan.lr_scheduler_type = "constant";
  plan.warmup_ratio = 0;
  plan.max_grad_norm = 1;
  plan.max_steps = 20;
  plan.num_train_epochs = 1;
  plan.stop_after_seconds = 2.5;
  plan.seed = 18446744073709551615ULL;
  plan.protocol = "published";
  plan.max_warmup_steps = 5;
  plan.evaluate_every_epoch = false;
  plan.trace_dir = "/traces";
  plan.device = "cpu";
  plan.threads = 1;
  plan.memory_budget_bytes = int64_t{4} << 30;
  plan.timeout_seconds = 5;
  plan.dry_run = true;
  plan.output_dir = "/out";
  plan.save = "final";
  plan.save_every = 10;
  plan.resume = true;
  plan.checkpoint_writer = "async";
  plan.local_dir = "/local";
  plan.keep = 3;
  plan.keep_best = 1;
  plan.keep_best_by = "eval_loss";
  plan.max_shard_mib = 100;
  return plan;
}

TEST(VitPlanTest, EveryFieldSurvivesJson) {
  const nlohmann::json unusual = ToJson(UnusualVitPlan());
  const nlohmann::json standard = ToJson(VitPlan{});
  for (const auto& [key, value] : unusual.items()) {
    EXPECT_TRUE(key == "schema" || key == "kind" || value != standard[key]) << key << " is not exercised";
  }
  for (const auto& [key, value] : unusual["knobs"].items()) {
    EXPECT_NE(value, standard["knobs"][key]) << key << " is not exercised";
  }
  const auto read = VitPlanFromJson(nlohmann::json::parse(unusual.dump()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ToJson(*read), unusual);
  EXPECT_EQ(read->seed, UnusualVitPlan().seed);
  EXPECT_EQ(read->knobs.communication_dtype, "float8");
}

TEST(VitPlanTest, AFileSaysWhichPlanItIs) {
  const auto vit = PlanFromJson(ToJson(Plan(UnusualVitPlan())));
  ASSERT_TRUE(vit.ok()) << vit.status().message();
  EXPECT_EQ(std::get<VitPlan>(*vit).plugin, "gemini");
  TunePlan tune_plan;
  tune_plan.model_dir = "/m";
  const auto tune = PlanFromJson(ToJson(Plan(tune_plan)));
  ASSERT_TRUE(tune.ok()) << tune.status().message();
  EXPECT_EQ(std::get<TunePlan>(*tune).model_dir, "/m");
  EXPECT_EQ(PlanFromJson({{"schema", 1}, {"kind", "vat"}}).status().message(), "plan: 'kind' is 'vat', not 'vit'");
  EXPECT_THAT(PlanFromJson(nlohmann::json::array()).status().message(), HasSubstr("'schema' is missing"));
}

TEST(VitPlanTest, UnknownKeysAreNamed) {
  const auto error = [](nlohmann::json extra) {
    extra["schema"] = 1;
    extra["kind"] = "vit";
    return VitPlanFromJson(extra).status().message();
  };
  EXPECT_EQ(error({{"batchsize", 4}}), "plan: unknown key 'batchsize' (did you mean 'batch_size'?)");
  EXPECT_EQ(error({{"knobs", {{"prefech", 4}}}}), "plan: knobs: unknown key 'prefech' (did you mean 'prefetch'?)");
  EXPECT_EQ(error({{"image_mean", 0.5}}), "plan: 'image_mean' must be a list of numbers, not 0.5");
  EXPECT_THAT(error({{"schema", 2}}), Not(HasSubstr("newer")));
}

VitPlan GoodPlan() {
  VitPlan plan;
  plan.model_dir = "/models/vit";
  plan.train_file = "/data/train.images";
  return plan;
}

TEST(CheckVitPlanTest, TakesTheDefaultsOfEveryPlugin) {
  for (const PluginInfo& plugin : Plugins()) {
    VitPlan plan = GoodPlan();
    plan.plugin = plugin.name;
    plan.precision = plugin.precision;
    plan.loss_scale = plugin.loss_scale;
    plan.knobs = plugin.defaults;
    plan.number_ranks = plugin.defaults.tp_size * plugin.defaults.pp_size;
    EXPECT_TRUE(CheckVitPlan(plan).ok()) << plugin.name << ": " << CheckVitPlan(plan).message();
  }
}

TEST(CheckVitPlanTest, RefusesWhatCannotBeCarriedOut) {
  const std::vector<std::pair<std::function<void(VitPlan&)>, std::string>> cases = {
      {[](VitPlan& p) { p.plugin = "gemni"; }, "there is no plugin 'gemni' (did you mean 'gemini'?)"},
      {[](VitPlan& p) { p.precision = "fp64"; }, "precision is 'fp64': it must be one of fp32, bf16"},
      {[](VitPlan& p) { p.protocol = "quick"; }, "protocol is 'quick'"},
      {[](VitPlan& p) { p.gradient_checkpointing = "some"; }, "gradient_checkpointing is 'some'"},
      {[](VitPlan& p) { p.batch_size = 0; }, "batch_size is 0"},
      {[](VitPlan& p) { p.warmup_ratio = 1.5; }, "warmup_ratio is 1.5"},
      {[](VitPlan& p) { p.gradient_accumulation_steps = 3; }, "batch_size 8 does not divide into"},
      {[](VitPlan& p) { p.number_ranks = 0; }, "number_ranks is 0"},
      {[](VitPlan& p) { p.train_file.clear(); }, "has no train_file"},
      {[](VitPlan& p) { p.synthetic = true; }, "cannot have a train_file"},
      {[](VitPlan& p) { p.image_std = {1, 1}; }, "image_mean and image_std"},
      {[](VitPlan& p) { p.num_train_epochs = 0; }, "nothing to train"},
      {[](VitPlan& p) { p.knobs.tp_size = 2; }, "torch_ddp does not read tp_size, which is set to 2"},
  };
  for (const auto& [spoil, message] : cases) {
    VitPlan plan = GoodPlan();
    spoil(plan);
    EXPECT_THAT(CheckVitPlan(plan).message(), HasSubstr(message));
    EXPECT_THAT(CheckVitPlan(plan).message(), Not(HasSubstr("\n")));
  }
}

TEST(CheckVitPlanTest, RefusesWhatHybridParallelHasNot) {
  VitPlan plan = GoodPlan();
  plan.plugin = "hybrid_parallel";
  plan.knobs = PluginKnobs{};
  plan.gradient_accumulation_steps = 1;
  ASSERT_EQ(CheckVitPlan(plan).message(), "");
  plan.gradient_accumulation_steps = 2;
  EXPECT_THAT(CheckVitPlan(plan).message(), HasSubstr("cuts its batch by microbatches"));
}

TEST(CheckVitPlanTest, EightBitsAreOfPluginsThatGatherWeights) {
  for (const PluginInfo& plugin : Plugins()) {
    VitPlan plan = GoodPlan();
    plan.plugin = plugin.name;
    plan.knobs = plugin.defaults;
    plan.number_ranks = 4;
    plan.gradient_accumulation_steps = 1;
    plan.precision = "fp8";
    const bool gathers = plugin.name != "torch_ddp" && plugin.name != "torch_ddp_fp16" && plugin.name != "NO_SHARD" &&
                         plugin.name != "hybrid_parallel";
    EXPECT_EQ(CheckVitPlan(plan).ok(), gathers) << plugin.name << ": " << CheckVitPlan(plan).message();
  }
  VitPlan plan = GoodPlan();
  plan.plugin = "hybrid_parallel";
  plan.knobs = PluginKnobs{.zero_stage = 1};
  plan.gradient_accumulation_steps = 1;
  plan.precision = "fp8";
  EXPECT_EQ(CheckVitPlan(plan).message(), "");
}

TEST(MicroBatchesTest, OfAPipelineAreOneImageEachUnlessGiven) {
  VitPlan plan;
  plan.batch_size = 8;
  plan.gradient_accumulation_steps = 2;
  EXPECT_EQ(MicroBatches(plan), 2);
  plan.plugin = "hybrid_parallel";
  plan.gradient_accumulation_steps = 1;
  EXPECT_EQ(MicroBatches(plan), 1);
  plan.knobs.pp_size = 2;
  EXPECT_EQ(MicroBatches(plan), 8);
  plan.knobs.microbatches = 4;
  EXPECT_EQ(MicroBatches(plan), 4);
}

TEST(RanksFitTest, RefusesWhatTheMachineCannotServe) {
  VitPlan plan;
  plan.number_ranks = 2;
  EXPECT_EQ(CheckRanksFit(plan).message(), "");
  plan.number_ranks = 1000 * UsableThreads();
  EXPECT_EQ(CheckRanksFit(plan).code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(CheckRanksFit(plan).message(), HasSubstr(std::to_string(plan.number_ranks) + " ranks are too many"));
}

TEST(RanksFitTest, GpusOfSeveralMachinesAreNotThisOnes) {
  VitPlan plan;
  plan.number_ranks = 4;
  plan.number_nodes = 2;
  EXPECT_EQ(CheckRanksFit(plan).message(), "") << "groups of ranks on the CPU stand in for machines";
  plan.device = "cuda";
  EXPECT_EQ(CheckRanksFit(plan).code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(CheckRanksFit(plan).message(), HasSubstr("number_nodes is 2, but ranks are to start on this machine"));
  plan.number_nodes = 1;
  EXPECT_EQ(CheckRanksFit(plan).message(), "");
}

TEST(ModelDividesTest, HeadsFeaturesAndLayersMustGoRound) {
  VitPlan plan;
  plan.knobs.tp_size = 2;
  plan.knobs.pp_size = 3;
  const DivisibleModel model{.attention_heads = 4, .intermediate_features = 6, .layers = 3};
  EXPECT_EQ(CheckModelDivides(plan, model).message(), "");
  plan.knobs.tp_size = 4;
  EXPECT_THAT(CheckModelDivides(plan, model).message(),
              HasSubstr("6 intermediate features do not divide by tp_size 4"));
  plan.knobs.tp_size = 3;
  EXPECT_THAT(CheckModelDivides(plan, model).message(), HasSubstr("4 attention heads do not divide by tp_size 3"));
  plan.knobs.tp_size = 2;
  EXPECT_THAT(
      CheckModelDivides(plan, {.attention_heads = 4, .key_value_heads = 1, .intermediate_features = 6}).message(),
      HasSubstr("1 key and value heads do not divide by tp_size 2"));
  plan.knobs = {.tp_size = 1, .pp_size = 4};
  EXPECT_THAT(CheckModelDivides(plan, model).message(), HasSubstr("3 layers are fewer than pp_size 4"));
}

TEST(DataRanksTest, LeavesOutTensorAndPipelineRanks) {
  VitPlan plan;
  plan.number_ranks = 8;
  EXPECT_EQ(DataRanks(plan), 8);
  plan.knobs.tp_size = 2;
  plan.knobs.pp_size = 2;
  EXPECT_EQ(DataRanks(plan), 2);
}

}  // namespace
}  // namespace assay::job
