#include "data/model_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CheckTrainingFits, RefusesWhatNoBatchCouldMakeFit) {
  constexpr int64_t kGib = int64_t{1} << 30;
  ModelRef model{.name = "large", .dir = "", .parameters = 405853388800};
  const Status refused = CheckTrainingFits(model, {}, 20 * kGib);
  EXPECT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("large has 405.9 B parameters"), HasSubstr("LoRA")));
  EXPECT_FALSE(CheckTrainingFits(model, {.full = false}, 20 * kGib).ok());
  EXPECT_TRUE(CheckTrainingFits(model, {.full = false, .quantized_bits = 4}, 200 * kGib).ok());
  EXPECT_FALSE(CheckTrainingFits(model, {.full = false, .quantized_bits = 8}, 200 * kGib).ok());
  model.has_weights = true;  // mapped, not made
  EXPECT_TRUE(CheckTrainingFits(model, {.full = false}, 20 * kGib).ok());
  EXPECT_FALSE(CheckTrainingFits(model, {}, 20 * kGib).ok());
  model.parameters = 0;
  EXPECT_TRUE(CheckTrainingFits(model, {}, 1).ok());
}

// As src/engine/optim keeps it.
TEST(CheckTrainingFits, CountsWhatTheOptimizerKeepsInEachDtype) {
  struct Need {
    const char* dtype;
    const char* optimizer;
    int64_t bytes;
  };
  constexpr int64_t kParameters = 1'000'000'000;
  const ModelRef model{.name = "given", .dir = "", .has_weights = true, .parameters = kParameters};
  for (const Need& need : {Need{"bfloat16", "adamw_torch", 6},
                           {"float32", "adamw_torch_fused", 12},
                           {"float16", "adamw_torch", 14},
                           {"bfloat16", "sgd", 2},
                           {"float32", "sgd", 4},
                           {"float16", "sgd", 2},
                           {"bfloat16", "rmsprop", 4},
                           {"float16", "adagrad", 10},
                           {"bfloat16", "lion_32bit", 6}}) {
    const TrainingKind training = {.full = true, .dtype = need.dtype, .optimizer = need.optimizer};
    EXPECT_TRUE(CheckTrainingFits(model, training, need.bytes * kParameters).ok()) << need.dtype << need.optimizer;
    EXPECT_FALSE(CheckTrainingFits(model, training, need.bytes * kParameters - 1).ok()) << need.dtype << need.optimizer;
  }
}

}  // namespace
}  // namespace assay::data
