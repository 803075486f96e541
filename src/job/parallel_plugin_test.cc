#include "job/parallel_plugin.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace assay::job {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(PluginsTest, KnobsOfTheTableAreKnobs) {
  std::vector<std::string> names;
  const PluginKnobs knobs;
  VisitKnobs(knobs, [&](const char* name, const auto&) { names.emplace_back(name); });
  for (const PluginInfo& plugin : Plugins()) {
    for (const std::string_view knob : plugin.knobs) {
      EXPECT_THAT(names, Contains(std::string(knob))) << plugin.name;
    }
  }
}

TEST(PluginsTest, AreFoundByName) {
  EXPECT_EQ((*FindPlugin("low_level_zero"))->precision, "fp16");
  EXPECT_EQ((*FindPlugin("_HYBRID_SHARD_ZERO2"))->defaults.prefetch, 1);
  EXPECT_THAT(FindPlugin("FULLSHARD").status().message(), HasSubstr("did you mean 'FULL_SHARD'?"));
}

std::string ErrorOf(std::string_view name, int64_t ranks, void (*spoil)(PluginKnobs&)) {
  const PluginInfo& plugin = **FindPlugin(name);
  PluginKnobs knobs = plugin.defaults;
  spoil(knobs);
  return CheckKnobs(plugin, knobs, ranks).message();
}

TEST(CheckKnobsTest, RefusesKnobsOutOfRange) {
  EXPECT_EQ(ErrorOf("gemini", 1, [](PluginKnobs& k) { k.offload_optim_frac = 1.5; }),
            "offload_optim_frac is 1.5: it must be from 0 to 1");
  EXPECT_EQ(ErrorOf("gemini", 1, [](PluginKnobs& k) { k.placement = "cuda"; }),
            "placement is 'cuda': it must be static or auto");
  EXPECT_EQ(ErrorOf("gemini", 1, [](PluginKnobs& k) { k.min_chunk_size_m = -1; }),
            "min_chunk_size_m is -1.0: it must be from 0 to 1048576");
  EXPECT_EQ(ErrorOf("low_level_zero", 1, [](PluginKnobs& k) { k.zero_stage = 3; }),
            "zero_stage is 3: low_level_zero has 1 and 2");
  EXPECT_EQ(ErrorOf("hybrid_parallel", 4, [](PluginKnobs& k) { k.tp_size = 0; }),
            "tp_size is 0: it must be at least 1");
  EXPECT_THAT(ErrorOf("torch_ddp", 1, [](PluginKnobs& k) { k.bucket_mib = 0; }), HasSubstr("above 0"));
  EXPECT_THAT(ErrorOf("torch_ddp", 1, [](PluginKnobs& k) { k.communication_dtype = "int8"; }),
              HasSubstr("communication_dtype is 'int8'"));
}

TEST(CheckKnobsTest, RefusesKnobsThatThePluginDoesNotRead) {
  EXPECT_EQ(ErrorOf("FULL_SHARD", 2, [](PluginKnobs& k) { k.shard_ranks = 2; }),
            "FULL_SHARD does not read shard_ranks, which is set to 2; leave it out, or choose another plugin");
  EXPECT_EQ(ErrorOf("HYBRID_SHARD", 4, [](PluginKnobs& k) { k.shard_ranks = 2; }), "");
}

TEST(CheckKnobsTest, FractionsOfGeminiAreRefusedWhereTheyDoNotAct) {
  EXPECT_EQ(ErrorOf("gemini", 2, [](PluginKnobs& k) { k.offload_param_frac = 0.5; }), "");
  EXPECT_THAT(ErrorOf("gemini", 2, [](PluginKnobs& k) { k.offload_param_frac = 0.5, k.offload_optim_frac = 0.5; }),
              HasSubstr("offload_param_frac is 0.5: it acts with placement static"));
  EXPECT_THAT(ErrorOf("gemini", 2, [](PluginKnobs& k) { k.offload_param_frac = 0.5, k.shard_param_frac = 0.5; }),
              HasSubstr("shard_param_frac 1 and offload_optim_frac 1"));
  EXPECT_THAT(ErrorOf("gemini", 2, [](PluginKnobs& k) { k.offload_param_frac = 0.5, k.placement = "auto"; }),
              HasSubstr("offload_param_frac is 0.5"));
  EXPECT_THAT(ErrorOf("gemini", 2, [](PluginKnobs& k) { k.shard_param_frac = 0.5, k.placement = "auto"; }),
              HasSubstr("placement auto keeps gathered what fits"));
  EXPECT_EQ(ErrorOf("FULL_SHARD", 2, [](PluginKnobs& k) { k.offload_param_frac = 0.5; }), "");
}

TEST(CheckKnobsTest, BucketsAreReadWhereGradientsAreNotSharded) {
  EXPECT_EQ(ErrorOf("NO_SHARD", 2, [](PluginKnobs& k) { k.bucket_mib = 2; }), "");
  for (const char* plugin : {"torch_ddp", "torch_ddp_fp16", "NO_SHARD", "hybrid_parallel"}) {
    EXPECT_THAT(ErrorOf(plugin, 4, [](PluginKnobs& k) { k.communication_dtype = "float8"; }),
                HasSubstr("gathers no weights that could travel in 8 bits"));
  }
  EXPECT_EQ(ErrorOf("FULL_SHARD", 4, [](PluginKnobs& k) { k.communication_dtype = "float8"; }), "");
  EXPECT_EQ(ErrorOf("hybrid_parallel", 4, [](PluginKnobs& k) { k.communication_dtype = "float8", k.zero_stage = 1; }),
            "");
  EXPECT_THAT(ErrorOf("low_level_zero", 2, [](PluginKnobs& k) { k.bucket_mib = 2; }),
              HasSubstr("low_level_zero does not read bucket_mib"));
  EXPECT_EQ(ErrorOf("hybrid_parallel", 4, [](PluginKnobs& k) { k.bucket_mib = 2; }), "");
  EXPECT_EQ(ErrorOf("hybrid_parallel", 4, [](PluginKnobs& k) { k.bucket_mib = 2, k.zero_stage = 1; }),
            "hybrid_parallel with zero_stage 1 does not read bucket_mib, which is set to 2.0; leave it out, or choose "
            "zero_stage 0");
}

TEST(CheckKnobsTest, TokensAreDividedByTensorRanks) {
  EXPECT_EQ(ErrorOf("hybrid_parallel", 4, [](PluginKnobs& k) { k.sequence_parallel = true; }), "");
  EXPECT_EQ(ErrorOf("FULL_SHARD", 4, [](PluginKnobs& k) { k.sequence_parallel = true; }),
            "sequence_parallel divides tokens between tensor ranks, and tp_size is 1; take tp_size 2 or more, or leave "
            "it out");
}

TEST(CheckKnobsTest, RanksMustDivideIntoTheMesh) {
  EXPECT_EQ(ErrorOf("hybrid_parallel", 1, [](PluginKnobs&) {}),
            "1 ranks do not divide into tp_size 2 x pp_size 2; take a multiple of 4");
  EXPECT_EQ(ErrorOf("hybrid_parallel", 8, [](PluginKnobs&) {}), "");
  EXPECT_EQ(ErrorOf("HYBRID_SHARD", 4, [](PluginKnobs& k) { k.shard_ranks = 3; }),
            "4 ranks do not divide into groups of shard_ranks 3");
}

}  // namespace
}  // namespace assay::job
