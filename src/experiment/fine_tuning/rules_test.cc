#include <gmock/gmock.h>

#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

using ::testing::HasSubstr;

std::string Reason(const space::Entity& changes) {
  return CheckFineTuningRules(testing::CompletePoint(testing::kFull, changes)).reason;
}

const space::Value kGpu = std::string("NVIDIA-A100-SXM4-80GB");

TEST(FineTuningRulesTest, APlainPointIsValid) {
  EXPECT_EQ(Reason({}), "");
  EXPECT_EQ(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}}), "");
}

TEST(FineTuningRulesTest, GpusShareTheBatchEvenly) {
  EXPECT_THAT(Reason({{"number_gpus", int64_t{3}}, {"gpu_model", kGpu}}),
              HasSubstr("batch_size 4 is not a multiple of number_gpus 3"));
}

TEST(FineTuningRulesTest, NodesHaveEquallyManyGpus) {
  EXPECT_EQ(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}, {"number_nodes", int64_t{2}}}), "");
  EXPECT_THAT(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}, {"number_nodes", int64_t{3}}}),
              HasSubstr("number_gpus 4 is not a multiple of number_nodes 3"));
}

TEST(FineTuningRulesTest, WhatRanksCannotDoIsRefusedWithItsReason) {
  const auto over_two = [](space::Entity changes) {
    changes["number_ranks"] = int64_t{2};
    return Reason(changes);
  };
  const auto text = [](const char* value) { return std::string(value); };
  EXPECT_THAT(Reason({{"number_ranks", int64_t{3}}}), HasSubstr("batch_size 4 is not a multiple of number_ranks 3"));
  EXPECT_THAT(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}, {"number_ranks", int64_t{2}}}),
              HasSubstr("each GPU has one rank"));
  EXPECT_THAT(over_two({{"number_nodes", int64_t{4}}}),
              HasSubstr("number_ranks 2 is not a multiple of number_nodes 4"));
  EXPECT_THAT(Reason({{"number_nodes", int64_t{2}}}), HasSubstr("number_ranks 1 is not a multiple of number_nodes 2"));
  EXPECT_EQ(over_two({{"number_nodes", int64_t{2}}}), "");
  EXPECT_THAT(Reason({{"distributed_backend", text("DDP")}}), HasSubstr("one rank has nothing to share"));
  EXPECT_THAT(Reason({{"fsdp_sharding_strategy", text("NO_SHARD")}}), HasSubstr("is of FSDP"));
  EXPECT_THAT(over_two({{"distributed_backend", text("DDP")}, {"fsdp_sharding_strategy", text("NO_SHARD")}}),
              HasSubstr("is of FSDP"));
  EXPECT_THAT(over_two({{"fsdp_state_dict_type", text("LOCAL_STATE_DICT")}}), HasSubstr("nothing is saved"));
  EXPECT_THAT(over_two({{"accelerate_config_mixed_precision", text("fp16")}}), HasSubstr("autocast"));
  EXPECT_THAT(Reason({{"accelerate_config_mixed_precision", text("bf16")}}), HasSubstr("accelerate starts two"));
  EXPECT_EQ(over_two({{"accelerate_config_mixed_precision", text("bf16")}}), "");
  EXPECT_THAT(Reason({{"accelerate_config_fsdp_transformer_layer_cls_to_wrap", text("LlamaDecoderLayer")}}),
              HasSubstr("is of FSDP"));
  for (const char* strategy : {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"}) {
    EXPECT_EQ(over_two({{"fsdp_sharding_strategy", text(strategy)}}), "");
  }
  const space::Entity sgd =
      testing::CompletePoint(testing::kFull, {{"number_ranks", int64_t{2}}, {"optim", text("sgd")}});
  EXPECT_THAT((*FindExperiment(testing::kFull))->Check(sgd).reason, HasSubstr("not supported over ranks"));
}

TEST(FineTuningRulesTest, AGpuHasAName) {
  EXPECT_THAT(Reason({{"number_gpus", int64_t{1}}}), HasSubstr("gpu_model is None"));
}

TEST(FineTuningRulesTest, ExpertsAreSharedEvenlyAndNeedTheirVersion) {
  EXPECT_THAT(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}, {"fast_moe", int64_t{3}}}),
              HasSubstr("not a multiple of fast_moe 3"));
  EXPECT_THAT(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}, {"fast_moe", int64_t{2}}}),
              HasSubstr("2.4.0 or later, not 2.1.2"));
  EXPECT_EQ(Reason({{"number_gpus", int64_t{4}},
                    {"gpu_model", kGpu},
                    {"fast_moe", int64_t{2}},
                    {"fms_hf_tuning_version", std::string("2.4.0")}}),
            "");
}

}  // namespace
}  // namespace assay::experiment
