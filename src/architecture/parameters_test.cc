#include "architecture/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::architecture {
namespace {

struct Known {
  const char* model;
  int64_t parameters;  // as transformers counts those of the published weights
};

class ParametersOf : public ::testing::TestWithParam<Known> {};

TEST_P(ParametersOf, AreThoseThatTransformersCounts) {
  const auto config = ReadModelConfig(std::string(ASSAY_SOURCE_DIR "/share/models/") + GetParam().model);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(CountParameters(*config), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(Models, ParametersOf,
                         ::testing::Values(Known{"smollm2-135m", 134515008}, Known{"llama3.2-1b", 1235814400},
                                           Known{"llama3.1-8b", 8030261248}, Known{"llama3.1-405b", 405853388800},
                                           Known{"mistral-7b-v0.1", 7241732096}, Known{"qwen2.5-0.5b", 494032768},
                                           Known{"qwen2.5-7b", 7615616512}, Known{"qwen3-0.6b", 596049920},
                                           Known{"qwen3-8b", 8190735360}, Known{"granite-34b-code-base", 33715603456},
                                           Known{"mixtral-8x7b-instruct-v0.1", 46702792704},
                                           Known{"granite-3.0-1b-a400m-base", 1334628352},
                                           Known{"granite-4.0-350m", 352379904},
                                           Known{"granite-4.0-h-tiny", 6939037248}));

ModelConfig Small() {
  ModelConfig config;
  config.vocab_size = 300;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.num_layers = 2;
  config.num_query_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 16;
  return config;
}

TEST(Parameters, OfSizesThatNoModelHasAreUnknown) {
  EXPECT_GT(CountParameters(Small()), 0);
  for (int64_t ModelConfig::* size : {&ModelConfig::vocab_size, &ModelConfig::head_dim, &ModelConfig::num_layers}) {
    ModelConfig huge = Small();
    huge.*size = INT64_MAX;
    EXPECT_EQ(CountParameters(huge), 0);
  }
}

std::vector<std::string> NamesOf(const std::vector<ParameterSpec>& specs) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) {
    names.push_back(spec.name);
  }
  return names;
}

TEST(Parameters, OfATiedHeadAreTheEmbeddings) {
  ModelConfig config = Small();
  EXPECT_EQ(NamesOf(HeadParameters(config)), (std::vector<std::string>{"model.norm.weight", "lm_head.weight"}));
  config.tie_word_embeddings = true;
  EXPECT_EQ(NamesOf(HeadParameters(config)), std::vector<std::string>{"model.norm.weight"});
}

TEST(Parameters, OfEveryNetworkTellItsPositionsAndNorms) {
  for (const Network network : {Network::kLlama, Network::kMixtral, Network::kGptBigCode, Network::kBloom}) {
    ModelConfig config = Small();
    config.network = network;
    config.max_positions = 8;
    config.num_experts = 2;
    const std::vector<std::string> entry = NamesOf(EntryParameters(config));
    EXPECT_EQ(LearnsPositions(config), std::ranges::count(entry, "transformer.wpe.weight") == 1);
    EXPECT_EQ(!EntryNormPath(config).empty(), std::ranges::count(entry, EntryNormPath(config) + ".bias") == 1);
    EXPECT_EQ(HasLayerNorms(config),
              std::ranges::count(NamesOf(HeadParameters(config)), FinalNormPath(config) + ".bias") == 1);
    EXPECT_FALSE(HasRotaryPositions(config) && LearnsPositions(config));
  }
}

TEST(Parameters, OfLayersOfTwoKindsAreCountedByKind) {
  ModelConfig config = Small();
  config.network = Network::kGraniteHybrid;
  config.shared_intermediate_size = 32;
  config.mamba = {.inner = 128, .heads = 8, .head_dim = 16, .groups = 1, .state = 4};
  const auto count_of = [&](std::vector<bool> mamba_layers) {
    config.num_layers = static_cast<int64_t>(mamba_layers.size());
    config.mamba_layers = std::move(mamba_layers);
    return CountParameters(config);
  };
  const int64_t attention = count_of({false, false}) - count_of({false});
  const int64_t mamba = count_of({true, true}) - count_of({true});
  EXPECT_EQ(count_of({true, false, true}), count_of({false}) + 2 * mamba);
  EXPECT_EQ(mamba - attention, (264 + 8) * 64 + 5 * 136 + 3 * 8 + 128 + 128 * 64 - 12288)
      << "Mamba-2's parameters in the place of attention's";
}

TEST(Parameters, BiasesStandBehindTheirWeights) {
  ModelConfig config = Small();
  config.query_key_value_bias = true;
  const std::vector<ParameterSpec> specs = LayerParameters(config, 1);
  const auto weight = std::ranges::find(specs, "model.layers.1.self_attn.k_proj.weight", &ParameterSpec::name);
  ASSERT_NE(weight, specs.end());
  EXPECT_EQ(weight->shape, (std::vector<int64_t>{32, 64}));
  const auto bias = weight + 1;
  EXPECT_EQ(bias->name, "model.layers.1.self_attn.k_proj.bias");
  EXPECT_EQ(bias->shape, std::vector<int64_t>{32});
  EXPECT_EQ(bias->initializer, Initializer::kZeros);
}

}  // namespace
}  // namespace assay::architecture
