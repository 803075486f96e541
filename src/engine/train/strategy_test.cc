#include "engine/train/strategy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/files.h"

namespace assay::engine {
namespace {

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
    const ShardPolicy policy = policy_of(*plugin, knobs, plugin->precision);
    EXPECT_EQ(policy.split, row.split) << row.plugin << row.zero_stage;
    EXPECT_EQ(policy.keep_weights, row.keep_weights) << row.plugin << row.zero_stage;
    EXPECT_EQ(policy.accumulate_whole, row.accumulate_whole) << row.plugin << row.zero_stage;
    EXPECT_EQ(policy.reshard_after_forward, row.reshard_after_forward) << row.plugin << row.zero_stage;
  }
}

std::string split_over(const ShardPolicy& policy) {
  if (policy.split == SplitOver::kNobody) {
    return "nobody";
  }
  const bool group = policy.split == SplitOver::kGroup;
  return group ? "a group; copies between groups" : policy.chunks ? "all ranks, in chunks" : "all ranks";
}

std::string whole_weights(const ShardPolicy& policy) {
  if (policy.placement == WeightPlacement::kBudget) {
    return "as the memory cap allows";
  }
  if (policy.keep_weights || policy.split == SplitOver::kNobody) {
    return "kept";
  }
  return policy.chunks                  ? "kept by fraction"
         : policy.reshard_after_forward ? "gathered by each unit"
                                        : "gathered once a step";
}

std::string given_up(const ShardPolicy& policy) {
  const bool budget = policy.placement == WeightPlacement::kBudget;
  return budget ? "when room is needed, farthest next use first" : policy.reshard_after_forward ? "yes" : "no";
}

std::string gradients(const ShardPolicy& policy) {
  if (policy.split == SplitOver::kNobody) {
    return fmt::format("all-reduced in {} MiB buckets{}", policy.bucket_mib,
                       policy.first_bucket_mib ? fmt::format(", the first of {}", *policy.first_bucket_mib) : "");
  }
  const bool group = policy.split == SplitOver::kGroup;
  return group                     ? "reduce-scattered within, all-reduced between groups"
         : policy.accumulate_whole ? "added up whole, reduce-scattered once a step"
                                   : "reduce-scattered each backward";
}

std::string states(const ShardPolicy& policy) {
  if (policy.split == SplitOver::kNobody) {
    return "whole";
  }
  const std::string shard = policy.split == SplitOver::kGroup ? "shard of the group" : "shard";
  return shard + (policy.yielding_optim_frac > 0  ? ", in host memory until the cap has room"
                  : policy.offload_optim_frac > 0 ? ", in host memory by fraction"
                                                  : "");
}

/// In bytes of the parameters, at the most.
int sent_a_step(const ShardPolicy& policy) {
  return policy.keep_weights || !policy.reshard_after_forward ? 2 : 3;
}

TEST(Strategy, TheTableOfThePageSaysWhatTheSettingsAre) {
  const Result<std::string> page = ReadFile(ASSAY_SOURCE_DIR "/docs/sharding.md");
  ASSERT_TRUE(page.ok());
  for (const auto& [name, policy] : shard_strategies()) {
    const std::string row =
        fmt::format("\n| `{}` | {} | {} | {} | {} | {} | {} |\n", name, split_over(policy), whole_weights(policy),
                    given_up(policy), gradients(policy), states(policy), sent_a_step(policy));
    EXPECT_THAT(*page, testing::HasSubstr(row));
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
