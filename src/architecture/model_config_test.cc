#include "architecture/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "architecture/families.h"
#include "base/files.h"
#include "base/json.h"

namespace assay::architecture {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Llama() {
  return {{"model_type", "llama"},    {"vocab_size", 100},           {"hidden_size", 64},
          {"intermediate_size", 128}, {"num_hidden_layers", 2},      {"num_attention_heads", 8},
          {"num_key_value_heads", 2}, {"rms_norm_eps", 1e-5},        {"max_position_embeddings", 512},
          {"rope_theta", 50000},      {"tie_word_embeddings", true}, {"hidden_act", "silu"}};
}

Result<ModelConfig> Read(const json& config) {
  return ParseModelConfig(config.dump(), "m/config.json");
}

/// Of a config that must be read.
ModelConfig Parse(const json& config) {
  const auto parsed = Read(config);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *parsed : ModelConfig();
}

std::string ErrorOf(const json& config) {
  const auto parsed = Read(config);
  return parsed.ok() ? "no error" : parsed.status().message();
}

std::string ErrorWith(const char* key, const json& value) {
  json config = Llama();
  config[key] = value;
  return ErrorOf(config);
}

TEST(ModelConfigTest, ReadsALlama) {
  const ModelConfig config = Parse(Llama());
  EXPECT_EQ(config.model_type, "llama");
  EXPECT_EQ(config.vocab_size, 100);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_DOUBLE_EQ(config.attention_scale, 1 / std::sqrt(8.0));
  EXPECT_DOUBLE_EQ(config.rope.theta, 50000);
  EXPECT_EQ(config.rope.type, RopeType::kDefault);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.layer_windows, (std::vector<int64_t>{0, 0}));
}

TEST(ModelConfigTest, GivesAbsentKeysTheDefaultsOfTransformers) {
  json config = Llama();
  for (const char* key : {"num_key_value_heads", "rms_norm_eps", "max_position_embeddings", "rope_theta",
                          "tie_word_embeddings", "hidden_act"}) {
    config.erase(key);
  }
  const ModelConfig parsed = Parse(config);
  EXPECT_EQ(parsed.num_key_value_heads, 8);
  EXPECT_DOUBLE_EQ(parsed.norm_eps, 1e-6);
  EXPECT_EQ(parsed.max_positions, 2048);
  EXPECT_DOUBLE_EQ(parsed.rope.theta, 10000);
  EXPECT_FALSE(parsed.tie_word_embeddings);
  config["head_dim"] = nullptr;
  EXPECT_EQ(Parse(config).head_dim, 8);
}

TEST(ModelConfigTest, MistralHasAWindowUnlessItSaysNull) {
  json config = Llama();
  config["model_type"] = "mistral";
  EXPECT_EQ(Parse(config).layer_windows, (std::vector<int64_t>{4096, 4096}));
  config["sliding_window"] = nullptr;
  EXPECT_EQ(Parse(config).layer_windows, (std::vector<int64_t>{0, 0}));
  config["sliding_window"] = 77;
  EXPECT_EQ(Parse(config).layer_windows, (std::vector<int64_t>{77, 77}));
}

TEST(ModelConfigTest, OnlyAnAbsentCountOfKeyHeadsIsTheFamilysOwn) {
  json config = Llama();
  config["model_type"] = "mistral";
  config["num_attention_heads"] = 16;
  config.erase("num_key_value_heads");
  EXPECT_EQ(Parse(config).num_key_value_heads, 8);
  config["num_key_value_heads"] = nullptr;
  EXPECT_EQ(Parse(config).num_key_value_heads, 16);
}

json Qwen2() {
  json config = Llama();
  config["model_type"] = "qwen2";
  config["num_hidden_layers"] = 4;
  return config;
}

TEST(ModelConfigTest, Qwen2HasBiasesOnQueryKeyAndValue) {
  json config = Qwen2();
  config["attention_bias"] = false;  // no key of this family
  config.erase("max_position_embeddings");
  const ModelConfig parsed = Parse(config);
  EXPECT_TRUE(parsed.query_key_value_bias);
  EXPECT_FALSE(parsed.output_bias || parsed.mlp_bias);
  EXPECT_EQ(parsed.max_positions, 32768);
}

TEST(ModelConfigTest, Qwen2HasWindowsWhereItUsesThem) {
  json config = Qwen2();
  config["sliding_window"] = 77;
  config["max_window_layers"] = 3;
  EXPECT_EQ(Parse(config).layer_windows, std::vector<int64_t>(4, 0)) << "not in use";
  config["use_sliding_window"] = true;
  EXPECT_EQ(Parse(config).layer_windows, (std::vector<int64_t>{0, 0, 0, 77}));
  config["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(Parse(config).layer_windows, (std::vector<int64_t>{77, 0, 77, 0}));
  config["sliding_window"] = nullptr;
  EXPECT_THAT(ErrorOf(config), HasSubstr("no sliding_window in use"));
  config["layer_types"] = {"full_attention"};
  EXPECT_THAT(ErrorOf(config), HasSubstr("layer_types has 1 entries for 4 layers"));
  config["layer_types"] = std::vector<std::string>(4, "linear_attention");
  EXPECT_THAT(ErrorOf(config), HasSubstr("'linear_attention' is not supported"));
  config["layer_types"] = "full_attention";
  EXPECT_THAT(ErrorOf(config), HasSubstr("layer_types must be a list of texts"));
  config.erase("layer_types");
  EXPECT_EQ(Parse(config).layer_windows, std::vector<int64_t>(4, 0));
}

TEST(ModelConfigTest, Qwen3NormsQueryAndKeyInHeadsOf128) {
  json config = Qwen2();
  config["model_type"] = "qwen3";
  config["hidden_size"] = 66;  // not a multiple of the heads
  ModelConfig parsed = Parse(config);
  EXPECT_TRUE(parsed.query_key_norm);
  EXPECT_EQ(parsed.head_dim, 128);
  EXPECT_DOUBLE_EQ(parsed.attention_scale, 1 / std::sqrt(128.0));
  EXPECT_FALSE(parsed.query_key_value_bias || parsed.output_bias || parsed.mlp_bias);
  config["attention_bias"] = true;
  config["head_dim"] = 16;
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 2;
  parsed = Parse(config);
  EXPECT_TRUE(parsed.query_key_value_bias && parsed.output_bias);
  EXPECT_EQ(parsed.head_dim, 16);
  EXPECT_EQ(parsed.layer_windows, (std::vector<int64_t>{0, 0, 4096, 4096}));
}

TEST(ModelConfigTest, GraniteHasMultipliers) {
  json config = Llama();
  config["model_type"] = "granite";
  config["embedding_multiplier"] = 12;
  config["attention_multiplier"] = 0.0078125;
  config["residual_multiplier"] = 0.22;
  config["logits_scaling"] = 16.0;
  const ModelConfig parsed = Parse(config);
  EXPECT_DOUBLE_EQ(parsed.embedding_multiplier, 12);
  EXPECT_DOUBLE_EQ(parsed.attention_scale, 0.0078125);
  EXPECT_DOUBLE_EQ(parsed.residual_multiplier, 0.22);
  EXPECT_DOUBLE_EQ(parsed.logits_divisor, 16);
}

TEST(ModelConfigTest, ReadsBothSpellingsOfRope) {
  json scaling = {{"rope_type", "llama3"},
                  {"factor", 8.0},
                  {"low_freq_factor", 1.0},
                  {"high_freq_factor", 4.0},
                  {"original_max_position_embeddings", 128}};
  json four = Llama();
  four["rope_scaling"] = scaling;
  json five = Llama();
  five.erase("rope_theta");
  scaling["rope_theta"] = 50000;
  five["rope_parameters"] = scaling;
  for (const json& config : {four, five}) {
    const RopeConfig rope = Parse(config).rope;
    EXPECT_EQ(rope.type, RopeType::kLlama3);
    EXPECT_DOUBLE_EQ(rope.theta, 50000);
    EXPECT_DOUBLE_EQ(rope.factor, 8);
    EXPECT_EQ(rope.original_max_positions, 128);
  }
}

TEST(ModelConfigTest, YarnStretchesFromTheModelsLengthUnlessToldOtherwise) {
  json config = Llama();
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4}};
  const RopeConfig rope = Parse(config).rope;
  EXPECT_EQ(rope.type, RopeType::kYarn);
  EXPECT_EQ(rope.original_max_positions, 512);
  EXPECT_DOUBLE_EQ(rope.beta_fast, 32);
  EXPECT_DOUBLE_EQ(rope.beta_slow, 1);
  EXPECT_TRUE(rope.truncate);
}

TEST(ModelConfigTest, RefusesAnUnknownFamilyByName) {
  EXPECT_EQ(ErrorWith("model_type", "opt"),
            fmt::format("m/config.json: model_type 'opt' is not supported, only {}", fmt::join(FamilyNames(), ", ")));
}

TEST(ModelConfigTest, NamesMissingKeys) {
  for (const char* key :
       {"model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"}) {
    json config = Llama();
    config.erase(key);
    EXPECT_EQ(ErrorOf(config), std::string("m/config.json: key '") + key + "' is missing");
  }
}

TEST(ModelConfigTest, RefusesNonsense) {
  EXPECT_EQ(ErrorWith("hidden_size", -64), "m/config.json: hidden_size must be an integer of at least 1, not -64");
  EXPECT_THAT(ErrorWith("hidden_size", "64"), HasSubstr("hidden_size must be an integer"));
  EXPECT_THAT(ErrorWith("num_hidden_layers", int64_t{1} << 60),
              HasSubstr("must be an integer of at least 1 and at most"));
  EXPECT_THAT(ErrorWith("vocab_size", 1.5), HasSubstr("vocab_size must be an integer"));
  EXPECT_THAT(ErrorWith("vocab_size", json::parse("18446744073709551615")), HasSubstr("vocab_size must be"));
  EXPECT_THAT(ErrorWith("num_key_value_heads", 3), HasSubstr("does not divide num_attention_heads 8"));
  EXPECT_THAT(ErrorWith("hidden_size", 66), HasSubstr("there is no head_dim"));
  EXPECT_THAT(ErrorWith("head_dim", 7), HasSubstr("head_dim 7 is odd"));
  EXPECT_THAT(ErrorWith("rms_norm_eps", 0), HasSubstr("rms_norm_eps must be a number greater than 0, not 0"));
  EXPECT_THAT(ErrorWith("tie_word_embeddings", "yes"), HasSubstr("tie_word_embeddings must be true or false"));
  EXPECT_THAT(ErrorWith("attention_dropout", 1.0), HasSubstr("attention_dropout 1 must be below 1"));
  EXPECT_THAT(ErrorWith("rope_theta", 1), HasSubstr("rope_theta must be greater than 1"));
}

TEST(ModelConfigTest, DropoutOfSeedOssMustBeSwitchedOff) {
  json config = Llama();
  config["model_type"] = "seed_oss";
  EXPECT_THAT(ErrorOf(config), HasSubstr("residual_dropout 0.1 is not supported (absent means 0.1): set it to 0"));
  config["residual_dropout"] = 0;
  EXPECT_EQ(Parse(config).head_dim, 128);
}

TEST(ModelConfigTest, RefusesWhatIsNotSupported) {
  EXPECT_THAT(ErrorWith("hidden_act", "gelu"), HasSubstr("hidden_act 'gelu' is not supported"));
  EXPECT_THAT(ErrorWith("partial_rotary_factor", 0.5), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(ErrorWith("is_causal", false), HasSubstr("is_causal false is not supported"));
  EXPECT_THAT(ErrorWith("per_layer_config", {{"0", {{"head_dim", 4}}}}), HasSubstr("per_layer_config"));
  EXPECT_THAT(ErrorWith("rope_parameters", {{"full_attention", {{"rope_theta", 1e6}}}}),
              HasSubstr("m/config.json: rope_parameters: settings for each type of layer are not supported"));
  EXPECT_THAT(ErrorWith("rope_scaling", {{"rope_type", "longrope"}, {"factor", 2}}),
              HasSubstr("m/config.json: rope_scaling: rope_type 'longrope' is not supported"));
}

TEST(ModelConfigTest, ReadsGptq) {
  json config = Llama();
  EXPECT_EQ(Parse(config).quantization.bits, 0);
  config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}};
  EXPECT_EQ(Parse(config).quantization.bits, 4);
  EXPECT_EQ(Parse(config).quantization.group_size, 128);
  EXPECT_FALSE(Parse(config).quantization.stores_zeros_as_they_are);
  config["quantization_config"] = {
      {"quant_method", "gptq"}, {"bits", 3}, {"group_size", -1}, {"checkpoint_format", "gptq_v2"}, {"desc_act", true}};
  EXPECT_EQ(Parse(config).quantization.group_size, -1);
  EXPECT_TRUE(Parse(config).quantization.stores_zeros_as_they_are);
  EXPECT_TRUE(Parse(config).quantization.in_any_order);
  config["quantization_config"]["dynamic"] = {{"-:.*k_proj", json::object()}};
  EXPECT_EQ(Parse(config).quantization.bits, 3) << "layers that are left out say so in the weights";
}

TEST(ModelConfigTest, RefusesOtherQuantisedWeights) {
  const auto error_with = [](json changes) {
    json section = {{"quant_method", "gptq"}, {"bits", 4}};
    section.update(changes);
    return ErrorWith("quantization_config", section);
  };
  EXPECT_THAT(ErrorWith("quantization_config", {{"bits", 4}}), HasSubstr("key 'quant_method' is missing"));
  EXPECT_THAT(error_with({{"quant_method", "awq"}}), HasSubstr("quant_method 'awq' is not supported, only gptq"));
  EXPECT_THAT(error_with({{"bits", 5}}), HasSubstr("bits 5 is not supported, only 2, 3, 4 and 8"));
  EXPECT_THAT(error_with({{"group_size", 0}}), HasSubstr("group_size must be -1 or an integer of at least 1"));
  EXPECT_THAT(error_with({{"checkpoint_format", "marlin"}}), HasSubstr("checkpoint_format 'marlin'"));
  EXPECT_THAT(error_with({{"lm_head", true}}), HasSubstr("lm_head true is not supported"));
  EXPECT_THAT(error_with({{"dynamic", {{"q_proj", {{"bits", 8}}}}}}), HasSubstr("dynamic is not supported"));
  EXPECT_THAT(error_with({{"dynamic", {{"-:k_proj", json::object()}, {"q_proj", {{"bits", 8}}}}}}),
              HasSubstr("dynamic is not supported"));
  EXPECT_THAT(error_with({{"pack_dtype", "int16"}}), HasSubstr("pack_dtype 'int16' is not supported, only int32"));
  json experts = Llama();
  experts["model_type"] = "mixtral";
  experts["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}};
  EXPECT_THAT(ErrorOf(experts), HasSubstr("quantised experts are not supported yet"));
}

TEST(ModelConfigTest, ANegativePaddingIdCountsFromTheEnd) {
  json config = Llama();
  config["pad_token_id"] = -1;
  EXPECT_EQ(Parse(config).pad_token_id, Parse(config).vocab_size - 1);
  config["pad_token_id"] = nullptr;
  EXPECT_EQ(Parse(config).pad_token_id, -1);
  EXPECT_THAT(ErrorWith("pad_token_id", Parse(config).vocab_size), HasSubstr("pad_token_id must be an integer"));
}

TEST(ModelConfigTest, RefusesIncompleteRope) {
  EXPECT_THAT(ErrorWith("rope_scaling", {{"rope_type", "linear"}}),
              HasSubstr("m/config.json: rope_scaling: key 'factor' is missing"));
  EXPECT_THAT(ErrorWith("rope_scaling", {{"rope_type", "linear"}, {"factor", 0.5}}),
              HasSubstr("factor must be at least 1"));
  EXPECT_THAT(ErrorWith("rope_parameters", {{"rope_type", "llama3"}, {"factor", 2}}),
              HasSubstr("m/config.json: rope_parameters: key 'low_freq_factor' is missing"));
  EXPECT_THAT(ErrorWith("rope_scaling",
                        {{"rope_type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4.0}, {"high_freq_factor", 1.0}}),
              HasSubstr("must be greater than low_freq_factor"));
}

TEST(ModelConfigTest, KeepsTheFirstOfSeveralErrors) {
  json config = Llama();
  config["hidden_size"] = "wide";
  config["num_attention_heads"] = 0;
  config["rope_scaling"] = {{"type", "yarn"}};
  EXPECT_THAT(ErrorOf(config), HasSubstr("hidden_size must be an integer"));
}

TEST(ModelConfigTest, NamesWhatIsWrongWithTheFolder) {
  EXPECT_EQ(ReadModelConfig("/nowhere/at/all").status().code(), ErrorCode::kNotFound);
  const auto folder = TemporaryDirectory::Create("config");
  ASSERT_TRUE(folder.ok());
  const Status empty = ReadModelConfig(folder->path()).status();
  EXPECT_THAT(empty.message(), HasSubstr("has no config.json"));
  EXPECT_EQ(empty.code(), ErrorCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(folder->path() + "/config.json", "[1, 2]").ok());
  EXPECT_EQ(ReadModelConfig(folder->path()).status().message(), folder->path() + "/config.json: must be a JSON object");
}

json GptBigCode() {
  return {{"model_type", "gpt_bigcode"}, {"vocab_size", 100}, {"n_embd", 64}, {"n_layer", 2}, {"n_head", 8}};
}

TEST(ModelConfigTest, GptBigCodeSharesOneHeadOfKeysAndValues) {
  const ModelConfig config = Parse(GptBigCode());
  EXPECT_EQ(config.num_key_value_heads, 1);
  EXPECT_EQ(config.intermediate_size, 256);
  EXPECT_EQ(config.max_positions, 1024);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_TRUE(config.tie_word_embeddings && config.gelu_tanh);
  for (const double dropout : {config.attention_dropout, config.embedding_dropout, config.residual_dropout}) {
    EXPECT_DOUBLE_EQ(dropout, 0.1);
  }
  json longer = GptBigCode();
  longer["max_position_embeddings"] = 8192;
  EXPECT_EQ(Parse(longer).max_positions, 8192);
  json many = GptBigCode();
  many["multi_query"] = false;
  EXPECT_EQ(Parse(many).num_key_value_heads, 8);
}

TEST(ModelConfigTest, GptBigCodeIsRefusedWhereItIsNotUnderstood) {
  const auto error_with = [](const char* key, const json& value) {
    json config = GptBigCode();
    config[key] = value;
    return ErrorOf(config);
  };
  EXPECT_THAT(error_with("n_head", 7), HasSubstr("n_head 7 does not divide n_embd 64"));
  EXPECT_THAT(error_with("resid_pdrop", 1.5), HasSubstr("resid_pdrop 1.5 must be below 1"));
  EXPECT_THAT(error_with("activation_function", "relu"), HasSubstr("activation_function 'relu' is not supported"));
  EXPECT_THAT(error_with("add_cross_attention", true), HasSubstr("add_cross_attention is not supported"));
}

TEST(ModelConfigTest, BloomHasNoPositionsOfItsOwn) {
  const json bloom = {{"model_type", "bloom"}, {"vocab_size", 100}, {"n_embed", 64}, {"n_layer", 3}, {"n_head", 8}};
  const ModelConfig config = Parse(bloom);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.intermediate_size, 256);
  EXPECT_EQ(config.num_key_value_heads, 8);
  EXPECT_EQ(config.num_layers, 3);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_TRUE(config.tie_word_embeddings && config.gelu_tanh);
  EXPECT_EQ(config.pad_token_id, -1);
  json after = bloom;
  after["apply_residual_connection_post_layernorm"] = true;
  EXPECT_THAT(ErrorOf(after), HasSubstr("apply_residual_connection_post_layernorm true is not supported"));
}

json Mixtral() {
  json config = Llama();
  config["model_type"] = "mixtral";
  config["num_local_experts"] = 4;
  return config;
}

TEST(ModelConfigTest, MixtralHasExpertsAndNoWindow) {
  const ModelConfig config = Parse(Mixtral());
  EXPECT_EQ(config.num_experts, 4);
  EXPECT_EQ(config.experts_per_token, 2);
  EXPECT_FALSE(config.stacked_experts);
  EXPECT_EQ(config.layer_windows, (std::vector<int64_t>{0, 0}));
  json granite = Mixtral();
  granite["model_type"] = "granitemoe";
  granite["logits_scaling"] = 6;
  EXPECT_TRUE(Parse(granite).stacked_experts);
  EXPECT_DOUBLE_EQ(Parse(granite).logits_divisor, 6);
}

TEST(ModelConfigTest, MixtralHasARotaryBaseOfItsOwn) {
  json config = Mixtral();
  config.erase("rope_theta");
  EXPECT_DOUBLE_EQ(Parse(config).rope.theta, 1e6);
  config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 2}};
  EXPECT_DOUBLE_EQ(Parse(config).rope.theta, 1e6);
  config["model_type"] = "granitemoe";
  EXPECT_DOUBLE_EQ(Parse(config).rope.theta, 1e4);
}

TEST(ModelConfigTest, ExpertsAreRefusedWhereTheyAreNotUnderstood) {
  const auto error_with = [](const char* key, const json& value) {
    json config = Mixtral();
    config[key] = value;
    return ErrorOf(config);
  };
  EXPECT_THAT(error_with("num_experts_per_tok", 5),
              HasSubstr("num_experts_per_tok 5 is more than num_local_experts 4"));
  EXPECT_THAT(error_with("router_aux_loss_coef", -0.1), HasSubstr("router_aux_loss_coef"));
  EXPECT_THAT(error_with("router_jitter_noise", 0.1), HasSubstr("router_jitter_noise other than 0 is not supported"));
}

TEST(ModelConfigTest, TheRoutersLossCountsWhereTheirLogitsAreAskedFor) {
  json config = Mixtral();
  config["router_aux_loss_coef"] = 0.02;
  EXPECT_DOUBLE_EQ(Parse(config).router_loss_coefficient, 0);
  config["output_router_logits"] = true;
  EXPECT_DOUBLE_EQ(Parse(config).router_loss_coefficient, 0.02);
  config.erase("router_aux_loss_coef");
  EXPECT_DOUBLE_EQ(Parse(config).router_loss_coefficient, 0.001);
}

json Hybrid() {
  json config = Mixtral();
  config["model_type"] = "granitemoehybrid";
  config["hidden_size"] = 64;
  config["mamba_n_heads"] = 8;
  config["num_hidden_layers"] = 2;
  config["layer_types"] = {"mamba", "attention"};
  return config;
}

TEST(ModelConfigTest, AHybridHasLayersOfTwoKinds) {
  json config = Hybrid();
  const ModelConfig read = Parse(config);
  EXPECT_EQ(read.network, Network::kGraniteHybrid);
  EXPECT_EQ(read.mamba_layers, (std::vector<bool>{true, false}));
  EXPECT_EQ(read.mamba.inner, 128);
  EXPECT_EQ(read.mamba.head_dim, 16);
  EXPECT_EQ(read.mamba.channels(), 128 + 2 * 256);
  EXPECT_EQ(read.num_experts, 4);
  EXPECT_FALSE(read.rotary_positions);
  config["layer_types"] = {"full_attention", "linear_attention"};
  config["position_embedding_type"] = "rope";
  config["num_local_experts"] = 0;
  config["time_step_limit"] = {0.5, {{"__float__", "Infinity"}}};
  const ModelConfig other = Parse(config);
  EXPECT_EQ(other.mamba_layers, (std::vector<bool>{false, true})) << "as transformers 5 writes them";
  EXPECT_TRUE(other.rotary_positions);
  EXPECT_EQ(other.num_experts, 0);
  EXPECT_DOUBLE_EQ(other.mamba.shortest_step, 0.5);
  EXPECT_TRUE(std::isinf(other.mamba.longest_step));
}

TEST(ModelConfigTest, AHybridIsRefusedWhereItIsNotUnderstood) {
  const auto error_with = [](const char* key, const json& value) {
    json config = Hybrid();
    config[key] = value;
    return ErrorOf(config);
  };
  EXPECT_THAT(error_with("layer_types", {"mamba"}), HasSubstr("layer_types has 1 entries for 2 layers"));
  EXPECT_THAT(error_with("layer_types", {"mamba", "rwkv"}), HasSubstr("layer_types: 'rwkv' is not supported"));
  EXPECT_THAT(error_with("mamba_n_heads", 7), HasSubstr("mamba_n_heads 7 of mamba_d_head 18"));
  EXPECT_THAT(error_with("mamba_d_head", 8), HasSubstr("mamba_n_heads 8 of mamba_d_head 8"));
  EXPECT_THAT(error_with("mamba_d_head", "wide"), HasSubstr("mamba_d_head must be a number or auto"));
  EXPECT_THAT(error_with("mamba_n_groups", 3), HasSubstr("mamba_n_groups 3 does not divide mamba_n_heads 8"));
  EXPECT_THAT(error_with("time_step_limit", {2.0, 1.0}), HasSubstr("a list of two numbers of at least 0 in order"));
}

TEST(ModelConfigTest, ReadsEveryNamedModel) {
  int read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(ASSAY_SOURCE_DIR "/share/models")) {
    if (file.path().filename() != "config.json" || ReadJsonFile(file.path().string())->at("model_type") == "vit") {
      continue;
    }
    const auto config = ReadModelConfig(file.path().parent_path().string());
    EXPECT_TRUE(config.ok()) << config.status().message();
    ++read;
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace assay::architecture
