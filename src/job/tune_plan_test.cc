#include "job/tune_plan.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace assay::job {
namespace {

using ::testing::HasSubstr;

// Differs from the default in every field.
TunePlan UnusualPlan() {
  TunePlan plan;
  plan.model_dir = "/models/tiny";
  plan.tokens_file = "/data/rows.tokens";
  plan.tokenizer = "/models/tiny";
  plan.data_uri = "s3://bucket/set/";
  plan.data_fingerprint = "42d6";
  plan.data_cache = "/cache";
  plan.data_cache_bytes = 1 << 20;
  plan.data_threads = 5;
  plan.response_template = "Answer:";
  plan.method = "lora";
  plan.lora = {.rank = 8,
               .alpha = 32,
               .dropout = 0,
               .use_rslora = true,
               .use_dora = true,
               .target_modules = {"q_proj", "o_proj"},
               .adapter_dir = "/a"};
  plan.prompt = {.length = 4, .init = "text", .init_text = "Say", .init_ids = {7, 8}, .adapter_dir = "/p"};
  plan.batch_size = 2;
  plan.gradient_accumulation_steps = 4;
  plan.model_max_length = 1024;
  plan.packing = true;
  plan.eval_tokens_file = "/held-out.tokens";
  plan.eval_every = 5;
  plan.early_stopping = 3;
  plan.label_smoothing = 0.1;
  plan.neftune_noise_alpha = 5;
  plan.sample.prompt_ids = {1, 2};
  plan.dtype = "float16";
  plan.gradient_checkpointing = "auto";
  plan.loss_scale = "512";
  plan.quantize_bits = 3;
  plan.quantize_group_size = -1;
  plan.optimizer = "sgd";
  plan.learning_rate = 3e-4;
  plan.weight_decay = 0.1;
  plan.lr_scheduler_type = "linear";
  plan.warmup_ratio = 0.5;
  plan.max_grad_norm = 0;
  plan.max_steps = 17;
  plan.num_train_epochs = 3;
  plan.stop_after_seconds = 2.5;
  plan.auto_stop_method = "WARMUP_60S_STABLE_120S_OR_10_STEPS";
  plan.shuffle = true;
  plan.seed = 18446744073709551615ULL;
  plan.plugin = "HYBRID_SHARD";
  plan.number_ranks = 4;
  plan.number_nodes = 2;
  plan.timeout_seconds = 7;
  plan.trace_dir = "/trace";
  plan.knobs.shard_ranks = 2;
  plan.device = "cpu";
  plan.threads = 2;
  plan.memory_budget_bytes = int64_t{4} << 30;
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

TEST(TunePlanTest, EveryFieldSurvivesJson) {
  const nlohmann::json unusual = ToJson(UnusualPlan());
  const nlohmann::json standard = ToJson(TunePlan{});
  ASSERT_EQ(unusual.size(), standard.size());
  for (const auto& [key, value] : unusual.items()) {
    EXPECT_TRUE(key == "schema" || value != standard[key]) << key << " is not exercised";
  }
  const auto read = TunePlanFromJson(nlohmann::json::parse(unusual.dump()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ToJson(*read), unusual);
  EXPECT_EQ(read->lora.target_modules, UnusualPlan().lora.target_modules);
  EXPECT_EQ(read->seed, UnusualPlan().seed);
  EXPECT_EQ(read->knobs.shard_ranks, 2);
}

TEST(TunePlanTest, RanksThatALanguageModelCannotHaveAreRefusedByName) {
  const auto refused = [](const char* plugin, int64_t ranks, const char* optimizer) {
    TunePlan plan;
    plan.plugin = plugin;
    plan.knobs = (*FindPlugin(plugin))->defaults;
    plan.number_ranks = ranks;
    plan.optimizer = optimizer;
    return CheckParallel(plan).message();
  };
  for (const char* plugin : {"torch_ddp", "low_level_zero", "gemini", "FULL_SHARD", "HYBRID_SHARD"}) {
    EXPECT_EQ(refused(plugin, 2, "adamw_torch"), "") << plugin;
  }
  EXPECT_EQ(refused("torch_ddp", 1, "sgd"), "");
  EXPECT_THAT(refused("torch_ddp", 2, "sgd"), HasSubstr("optimizer 'sgd' is not supported over ranks"));
  EXPECT_THAT(refused("FULL_SHARD", 1, "sgd"), HasSubstr("optimizer 'sgd'"));
  EXPECT_THAT(refused("torch_ddp", 0, "adamw_torch"), HasSubstr("number_ranks is 0"));
  EXPECT_THAT(refused("torch_ddp_fp16", 2, "adamw_torch"), HasSubstr("torch_ddp_fp16 is autocast"));
}

TEST(TunePlanTest, LossScalesAreAutoOffOrPositive) {
  EXPECT_EQ(*LossScale("auto"), kAutoLossScale);
  EXPECT_EQ(*LossScale("off"), 0.0);
  EXPECT_EQ(*LossScale("1024"), 1024.0);
  EXPECT_EQ(*LossScale("1e3"), 1000.0);
  for (const char* wrong : {"", "0", "-1", "on", "12x", "inf", "nan"}) {
    EXPECT_THAT(LossScale(wrong).status().message(), HasSubstr("it must be auto, off or a positive number")) << wrong;
  }
}

TEST(TunePlanTest, MissingKeysTakeTheDefaults) {
  const auto plan = TunePlanFromJson({{"schema", 1}, {"lora", {{"rank", 16}}}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->lora.rank, 16);
  EXPECT_EQ(plan->lora.alpha, 16);
  EXPECT_EQ(plan->batch_size, 4);
}

std::string ErrorOf(const nlohmann::json& json) {
  return TunePlanFromJson(json).status().message();
}

TEST(TunePlanTest, BadPlansAreErrorsThatSayWhat) {
  EXPECT_EQ(ErrorOf({{"schema", 1}, {"batchsize", 4}}), "plan: unknown key 'batchsize' (did you mean 'batch_size'?)");
  EXPECT_EQ(ErrorOf({{"schema", 1}, {"lora", {{"rnk", 4}}}}), "plan: lora: unknown key 'rnk' (did you mean 'rank'?)");
  EXPECT_EQ(ErrorOf({{"schema", 1}, {"batch_size", "4"}}), "plan: 'batch_size' must be an integer, not the text \"4\"");
  EXPECT_EQ(ErrorOf({{"schema", 1}, {"lora", 5}}), "plan: lora: expected an object, not 5");
  EXPECT_THAT(ErrorOf({{"schema", TunePlan::kSchema + 1}}), HasSubstr("schema 2 is newer than this program's 1"));
  EXPECT_THAT(ErrorOf({{"batch_size", 4}}), HasSubstr("'schema' is missing"));
  EXPECT_THAT(ErrorOf(nlohmann::json::array()), HasSubstr("'schema' is missing"));
}

}  // namespace
}  // namespace assay::job
