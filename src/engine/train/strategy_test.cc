#include "engine/train/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace assay::engine {
namespace {

TEST(Strategy, PluginsNameThoseOfTheEngine) {
  for (const job::PluginInfo& plugin : job::Plugins()) {
    for (const std::string_view strategy : plugin.strategies) {
      EXPECT_NO_THROW(shard_policy(strategy)) << plugin.name;
    }
    if (job::Reads(plugin, "placement")) {
      job::PluginKnobs knobs = plugin.defaults;
      knobs.placement = "auto";
      EXPECT_EQ(shard_policy(job::StrategyOf(plugin, knobs)).placement, WeightPlacement::kBudget);
    }
  }
}

/// By what tells strategies apart that give the same losses.
TEST(Strategy, PluginsAreWhatTheirNamesSay) {
  struct Row {
    std::string_view plugin;
    int64_t zero_stage;
    SplitOver split;
    bool keep_weights;
    bool accumulate_whole;
    bool reshard_after_forward;
  };
  constexpr Row kRows[] = {
      {"torch_ddp", 0, SplitOver::kNobody, true, false, false},
      {"torch_ddp_fp16", 0, SplitOver::kNobody, true, false, false},
      {"low_level_zero", 1, SplitOver::kAll, true, true, false},
      {"low_level_zero", 2, SplitOver::kAll, true, false, false},
      {"gemini", 0, SplitOver::kAll, false, false, true},
      {"hybrid_parallel", 0, SplitOver::kNobody, true, false, false},
      {"hybrid_parallel", 1, SplitOver::kAll, true, true, false},
      {"FULL_SHARD", 0, SplitOver::kAll, false, false, true},
      {"SHARD_GRAD_OP", 0, SplitOver::kAll, false, false, false},
      {"NO_SHARD", 0, SplitOver::kNobody, false, false, false},
      {"HYBRID_SHARD", 0, SplitOver::kGroup, false, false, true},
      {"_HYBRID_SHARD_ZERO2", 0, SplitOver::kGroup, false, false, false},
  };
  for (const Row& row : kRows) {
    const auto plugin = std::ranges::find(job::Plugins(), row.plugin, &job::PluginInfo::name);
    ASSERT_NE(plugin, job::Plugins().end()) << row.plugin;
    job::PluginKnobs knobs = plugin->defaults;
    knobs.zero_stage = row.zero_stage;
    const ShardPolicy& policy = shard_policy(job::StrategyOf(*plugin, knobs));
    EXPECT_EQ(policy.split, row.split) << row.plugin << row.zero_stage;
    EXPECT_EQ(policy.keep_weights, row.keep_weights) << row.plugin << row.zero_stage;
    EXPECT_EQ(policy.accumulate_whole, row.accumulate_whole) << row.plugin << row.zero_stage;
    EXPECT_EQ(policy.reshard_after_forward, row.reshard_after_forward) << row.plugin << row.zero_stage;
  }
}

TEST(VitStrategy, AStepOfSeveralMicroBatchesAddsUpInFloat32WhateverTravels) {
  for (const char* travels_as : {"", "float32", "bfloat16", "float16", "float8"}) {
    for (const char* precision : {"fp32", "bf16"}) {
      job::VitPlan plan;
      plan.plugin = "FULL_SHARD";
      plan.precision = precision;
      plan.knobs.communication_dtype = travels_as;
      EXPECT_FALSE(policy_of(plan).several_backwards) << travels_as << ", " << precision;
      plan.gradient_accumulation_steps = 2;
      EXPECT_TRUE(policy_of(plan).several_backwards) << travels_as << ", " << precision;
    }
  }
}

TEST(VitStrategy, WhatTravelsIsTheCommunicationDtypesAlone) {
  job::VitPlan plan;
  plan.plugin = "FULL_SHARD";
  plan.precision = "bf16";
  EXPECT_EQ(policy_of(plan).reduce_dtype, at::kBFloat16);
  plan.knobs.communication_dtype = "float8";
  EXPECT_EQ(policy_of(plan).reduce_dtype, at::kBFloat16);
  EXPECT_TRUE(policy_of(plan).gather_float8);
  plan.knobs.communication_dtype = "float32";
  EXPECT_EQ(policy_of(plan).reduce_dtype, at::kFloat);
  EXPECT_FALSE(policy_of(plan).gather_float8);
}

TEST(VitStrategy, GeminisStatesLieInHostMemoryOrMayMoveThere) {
  job::VitPlan plan;
  plan.plugin = "gemini";
  plan.knobs.offload_optim_frac = 0.5;
  EXPECT_EQ(policy_of(plan).offload_optim_frac, 0.5);
  EXPECT_EQ(policy_of(plan).yielding_optim_frac, 0);
  plan.knobs.placement = "auto";
  EXPECT_EQ(policy_of(plan).offload_optim_frac, 0);
  EXPECT_EQ(policy_of(plan).yielding_optim_frac, 0.5);
}

TEST(VitStrategy, ChunksAreGeminisAlone) {
  job::VitPlan plan;
  plan.plugin = "gemini";
  ASSERT_TRUE(policy_of(plan).chunks);
  EXPECT_EQ(policy_of(plan).chunks->step, 1024);
  plan.knobs.min_chunk_size_m = 0.5;
  plan.knobs.search_range_m = 2;
  plan.knobs.hidden_dim = 768;
  const ChunkSearch chunks = policy_of(plan).chunks.value();
  EXPECT_EQ(chunks.min_elements, 1 << 19);
  EXPECT_EQ(chunks.range, 2 << 20);
  EXPECT_EQ(chunks.step, 768);
  plan.plugin = "FULL_SHARD";
  EXPECT_FALSE(policy_of(plan).chunks);
}

TEST(VitStrategy, TheFirstBucketOfDdpAloneIsSmall) {
  job::VitPlan plan;
  plan.knobs.bucket_mib = 64;
  EXPECT_EQ(policy_of(plan).bucket_mib, 64);
  EXPECT_EQ(policy_of(plan).first_bucket_mib, 1);
  plan.plugin = "NO_SHARD";
  EXPECT_EQ(policy_of(plan).bucket_mib, 64);
  EXPECT_FALSE(policy_of(plan).first_bucket_mib.has_value());
}

}  // namespace
}  // namespace assay::engine
