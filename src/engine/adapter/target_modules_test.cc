#include "engine/adapter/target_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kPaths = {"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj",
                                         "model.layers.1.self_attn.q_proj", "model.layers.11.mlp.up_proj"};

std::vector<size_t> matched(const std::vector<std::string>& targets) {
  LoraConfig config;
  config.target_modules = targets;
  return matched_modules(kPaths, config, Matching::kEveryTarget);
}

std::vector<size_t> matched_pattern(const std::string& pattern) {
  LoraConfig config;
  config.target_pattern = pattern;
  return matched_modules(kPaths, config, Matching::kEveryTarget);
}

template <typename Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const StatusError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TargetModulesTest, MatchesWholePathsAndTheirLastComponents) {
  EXPECT_THAT(matched({"q_proj"}), ElementsAre(0, 2));
  EXPECT_THAT(matched({"self_attn.q_proj", "up_proj"}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(matched({"model.layers.1.self_attn.q_proj"}), ElementsAre(2));
  EXPECT_THAT(matched({"layers.1.self_attn.q_proj"}), ElementsAre(2));
}

TEST(TargetModulesTest, StopsAtDots) {
  EXPECT_FALSE(matches_target("model.layers.0.mlp.up_proj", "proj"));
  EXPECT_FALSE(matches_target("model.layers.11.mlp.up_proj", "1.mlp.up_proj"));
  EXPECT_FALSE(matches_target("q_proj", "self_attn.q_proj"));
  EXPECT_FALSE(matches_target("q_proj", ""));
  EXPECT_TRUE(matches_target("q_proj", "q_proj"));
}

TEST(TargetModulesTest, APatternMustMatchTheWholePath) {
  EXPECT_THAT(matched_pattern(".*q_proj"), ElementsAre(0, 2));
  EXPECT_THAT(matched_pattern(R"(model\.layers\.(0|1)\..*)"), ElementsAre(0, 1, 2));
  EXPECT_THAT(matched_pattern(R"(.*layers\.\d+\.mlp\.(?P<which>up|down)_proj)"), ElementsAre(1, 3));
  EXPECT_THAT(error_of([] { matched_pattern("q_proj"); }), HasSubstr("match no whole module path"));
}

TEST(TargetModulesTest, APatternMayNotMatchTheHeadOrTheEmbedding) {
  EXPECT_THAT(error_of([] { matched_pattern(".*(q_proj|lm_head)"); }), HasSubstr("match lm_head"));
  EXPECT_THAT(error_of([] { matched_pattern(".*"); }), HasSubstr("match lm_head"));
  EXPECT_THAT(error_of([] { matched_pattern(".*(q_proj|embed_tokens)"); }), HasSubstr("match model.embed_tokens"));
  EXPECT_THAT(error_of([] { matched_pattern(".*(q_proj|word_embeddings)"); }),
              HasSubstr("match transformer.word_embeddings"));
}

TEST(TargetModulesTest, TellsPatternsFromNames) {
  EXPECT_TRUE(is_pattern(".*q_proj"));
  EXPECT_TRUE(is_pattern("(q|v)_proj"));
  EXPECT_FALSE(is_pattern("q_proj"));
  EXPECT_FALSE(is_pattern("model.layers.0.self_attn.q_proj"));
}

TEST(TargetModulesTest, NamesATargetThatMatchesNothing) {
  EXPECT_EQ(
      error_of([] { matched({"q_proj", "up_porj"}); }),
      "target module 'up_porj' matches no linear layer of the model (did you mean 'up_proj'?); available modules: "
      "q_proj, up_proj, or all-linear");
  EXPECT_THAT(error_of([] { matched_pattern("(q_proj"); }), HasSubstr("'(q_proj' is not a regular expression"));
}

TEST(TargetModulesTest, MayPassOverTargetsThatTheModelLacks) {
  LoraConfig config;
  config.target_modules = {"q_proj", "c_attn"};
  EXPECT_THAT(matched_modules(kPaths, config, Matching::kAnyTarget), ElementsAre(0, 2));
  config.target_modules = {"c_attn"};
  EXPECT_THAT(error_of([&] { matched_modules(kPaths, config, Matching::kAnyTarget); }),
              HasSubstr("target modules [c_attn] match no linear layer"));
  EXPECT_THAT(error_of([&] { matched_modules(kPaths, config, Matching::kPartOfModel); }),
              HasSubstr("target modules 'c_attn' match nothing from " + kPaths.front() + " to " + kPaths.back()));
}

}  // namespace
}  // namespace assay::engine
