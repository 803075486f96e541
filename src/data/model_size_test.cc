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

TEST(CheckTrainingFits, RefusesWhatNoBatchCouldMakeFit) {
  constexpr int64_t kGib = int64_t{1} << 30;
  ModelRef model{.name = "large", .dir = "", .parameters = 405853388800};
  const Status refused = CheckTrainingFits(model, true, "bfloat16", 20 * kGib);
  EXPECT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("large has 405.9 B parameters"), HasSubstr("LoRA")));
  EXPECT_FALSE(CheckTrainingFits(model, false, "bfloat16", 20 * kGib).ok());
  model.has_weights = true;  // mapped, not made
  EXPECT_TRUE(CheckTrainingFits(model, false, "bfloat16", 20 * kGib).ok());
  EXPECT_FALSE(CheckTrainingFits(model, true, "bfloat16", 20 * kGib).ok());
  model.parameters = 0;
  EXPECT_TRUE(CheckTrainingFits(model, true, "bfloat16", 1).ok());
}

}  // namespace
}  // namespace assay::data
