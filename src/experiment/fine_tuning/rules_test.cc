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
  EXPECT_THAT(Reason({{"number_gpus", int64_t{4}}, {"gpu_model", kGpu}, {"number_nodes", int64_t{3}}}),
              HasSubstr("number_gpus 4 is not a multiple of number_nodes 3"));
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
