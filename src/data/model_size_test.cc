#include "data/model_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Known {
  const char* model;
  int64_t parameters;  // as transformers counts those of the published weights
};

class ParametersOf : public ::testing::TestWithParam<Known> {};

TEST_P(ParametersOf, AreThoseThatTransformersCounts) {
  const auto config = ReadJsonFile(std::string(ASSAY_SOURCE_DIR "/share/models/") + GetParam().model + "/config.json");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(CountDecoderParameters(*config), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(Models, ParametersOf,
                         ::testing::Values(Known{"smollm2-135m", 134515008}, Known{"llama3.2-1b", 1235814400},
                                           Known{"llama3.1-8b", 8030261248}, Known{"llama3.1-405b", 405853388800},
                                           Known{"mistral-7b-v0.1", 7241732096}));

TEST(Parameters, OfAConfigThatDoesNotSayAreUnknown) {
  EXPECT_EQ(CountDecoderParameters({{"model_type", "llama"}, {"vocab_size", 300}}), 0);
}

TEST(Parameters, OfSizesThatNoModelHasAreUnknown) {
  nlohmann::json config = {{"hidden_size", 64},
                           {"intermediate_size", 128},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"vocab_size", 300}};
  EXPECT_GT(CountDecoderParameters(config), 0);
  for (const char* key : {"vocab_size", "head_dim", "num_key_value_heads"}) {
    nlohmann::json huge = config;
    huge[key] = INT64_MAX;
    EXPECT_EQ(CountDecoderParameters(huge), 0) << key;
  }
}

TEST(Parameters, OfMistralHaveEightKeyHeadsWhereTheConfigDoesNotSay) {
  nlohmann::json config = {{"model_type", "mistral"}, {"hidden_size", 64},         {"intermediate_size", 128},
                           {"num_hidden_layers", 2},  {"num_attention_heads", 16}, {"vocab_size", 300}};
  const int64_t unsaid = CountDecoderParameters(config);
  config["num_key_value_heads"] = 8;
  EXPECT_EQ(CountDecoderParameters(config), unsaid);
}

TEST(CheckTrainingFits, RefusesWhatNoBatchCouldMakeFit) {
  constexpr int64_t kGib = int64_t{1} << 30;
  ModelRef model{.name = "large", .dir = "", .parameters = 405853388800};
  const Status refused = CheckTrainingFits(model, {}, 20 * kGib);
  EXPECT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("large has 405.9 B parameters"), HasSubstr("LoRA")));
  EXPECT_FALSE(CheckTrainingFits(model, {.full = false}, 20 * kGib).ok());
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
                           {"float16", "sgd", 2}}) {
    const TrainingKind training = {.full = true, .dtype = need.dtype, .optimizer = need.optimizer};
    EXPECT_TRUE(CheckTrainingFits(model, training, need.bytes * kParameters).ok()) << need.dtype << need.optimizer;
    EXPECT_FALSE(CheckTrainingFits(model, training, need.bytes * kParameters - 1).ok()) << need.dtype << need.optimizer;
  }
}

}  // namespace
}  // namespace assay::data
