#include "engine/train/strategy.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

TEST(Strategy, PluginsNameThoseOfTheEngine) {
  for (const job::PluginInfo& plugin : job::Plugins()) {
    for (const std::string_view strategy : plugin.strategies) {
      EXPECT_NO_THROW(shard_policy(strategy)) << plugin.name;
    }
    job::PluginKnobs knobs = plugin.defaults;
    EXPECT_EQ(job::StrategyOf(plugin, knobs), plugin.strategies.front());
    if (job::Reads(plugin, "placement")) {
      knobs.placement = "auto";
      EXPECT_EQ(shard_policy(job::StrategyOf(plugin, knobs)).placement, WeightPlacement::kBudget);
    }
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
