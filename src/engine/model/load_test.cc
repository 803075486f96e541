#include "engine/model/load.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

constexpr char kConfig[] = R"({"model_type": "llama", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 12,
  "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "attention_bias": true})";

std::unique_ptr<CausalLM> load(const std::string& dir, at::ScalarType dtype = at::kFloat, uint64_t seed = 1) {
  bool random_weights = false;
  return load_model(dir, dtype, at::kCPU, seed, random_weights);
}

std::string error_of(const std::string& dir) {
  try {
    load(dir);
  } catch (const StatusError& error) {
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() { write("config.json", kConfig); }

  const std::string& dir() const { return folder_.path(); }
  std::string file(const std::string& name) const { return dir() + "/" + name; }
  void write(const std::string& name, const std::string& text) {
    throw_if_error(WriteFileAtomically(file(name), text));
  }

  /// The parameters that kConfig asks for, to be changed and written.
  std::vector<NamedTensor> parameters() {
    bool random_weights = false;
    const auto model = load_model(dir(), at::kFloat, at::kCPU, 1, random_weights);
    EXPECT_TRUE(random_weights);
    return model->parameters();
  }

  void write_weights(const std::vector<NamedTensor>& tensors) { write_safetensors(file("model.safetensors"), tensors); }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("load"));
};

TEST_F(LoadTest, ListsParametersInTheOrderOfTheCheckpoint) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : parameters()) {
    EXPECT_TRUE(tensor.requires_grad()) << name;
    names.push_back(name);
  }
  EXPECT_EQ(names.front(), "model.embed_tokens.weight");
  EXPECT_EQ(names[1], "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(names[2], "model.layers.0.self_attn.q_proj.bias");
  EXPECT_THAT(names, testing::Contains("model.layers.0.post_attention_layernorm.weight"));
  EXPECT_EQ(names.back(), "lm_head.weight");
  EXPECT_EQ(names.size(), 16u);
}

TEST_F(LoadTest, RandomWeightsDependOnTheSeedOnly) {
  const at::Tensor first = load(dir())->parameters()[0].second;
  EXPECT_TRUE(first.equal(load(dir())->parameters()[0].second));
  EXPECT_FALSE(first.equal(load(dir(), at::kFloat, 2)->parameters()[0].second));
  EXPECT_TRUE(first.to(at::kBFloat16).equal(load(dir(), at::kBFloat16)->parameters()[0].second));
}

TEST_F(LoadTest, TrainingMappedWeightsLeavesTheFileAsItIs) {
  write_weights(parameters());
  const std::string before = value_or_throw(ReadFile(file("model.safetensors")));
  const auto model = load(dir());
  EXPECT_GE(mapped_bytes(), static_cast<int64_t>(before.size()));
  {
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : model->parameters()) {
      at::Tensor(tensor).fill_(3.0);
    }
  }
  EXPECT_EQ(value_or_throw(ReadFile(file("model.safetensors"))), before);
}

TEST_F(LoadTest, NamesAMissingTensor) {
  auto tensors = parameters();
  tensors.erase(tensors.begin() + 3);
  write_weights(tensors);
  EXPECT_EQ(error_of(dir()), file("model.safetensors") +
                                 ": tensor 'model.layers.0.self_attn.k_proj.weight' is missing, the model in "
                                 "config.json needs it");
}

TEST_F(LoadTest, NamesATensorOfTheWrongShape) {
  auto tensors = parameters();
  tensors[0].second = at::zeros({12, 8});
  write_weights(tensors);
  EXPECT_EQ(error_of(dir()), file("model.safetensors") +
                                 ": tensor 'model.embed_tokens.weight' is [12, 8], but config.json asks for [11, 8]");
}

TEST_F(LoadTest, NamesATensorThatHasNoPlace) {
  auto tensors = parameters();
  tensors.emplace_back("model.layers.1.mlp.up_proj.weight", at::zeros({12, 8}));
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("'model.layers.1.mlp.up_proj.weight' has no place in the model"));
}

TEST_F(LoadTest, NamesATensorThatHasNoPlaceThoughItIsCalledLikeOneThatHas) {
  auto tensors = parameters();
  tensors.emplace_back("model.layers.0.mlp.up_proj.weight_scale", at::ones({1}));
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("'model.layers.0.mlp.up_proj.weight_scale' has no place in the model"));
}

TEST_F(LoadTest, PassesOverWhatTransformersIgnores) {
  auto tensors = parameters();
  tensors.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", at::zeros({2}));
  write_weights(tensors);
  EXPECT_EQ(error_of(dir()), "no error");
}

/// The same tensors under names to which `rename` was applied.
std::vector<NamedTensor> renamed(std::vector<NamedTensor> tensors, std::string (*rename)(std::string)) {
  for (auto& [name, tensor] : tensors) {
    name = rename(std::move(name));
  }
  return tensors;
}

TEST_F(LoadTest, NamesMayLackThePrefixOrHaveItTwice) {
  const auto tensors = parameters();
  const auto without = [](std::string name) { return name.starts_with("model.") ? name.substr(6) : name; };
  const auto twice = [](std::string name) { return "model." + name; };
  const auto without_in_layers = [](std::string name) {
    return name.starts_with("model.layers.") ? name.substr(6) : name;
  };
  for (auto* rename : {+without, +twice, +without_in_layers}) {
    write_weights(renamed(tensors, rename));
    const auto loaded = load(dir())->parameters();
    ASSERT_EQ(loaded.size(), tensors.size());
    for (size_t i = 0; i < loaded.size(); ++i) {
      EXPECT_EQ(loaded[i].first, tensors[i].first);
      EXPECT_TRUE(loaded[i].second.equal(tensors[i].second)) << loaded[i].first;
    }
  }
}

TEST_F(LoadTest, OneOfTwoNamesOfAParameterHasNoPlace) {
  auto tensors = parameters();
  tensors.emplace_back("norm.weight", at::zeros({8}));
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("'norm.weight' has no place in the model"));
}

TEST_F(LoadTest, AStoredCopyOfATiedHeadMustBeACopy) {
  auto tensors = parameters();
  nlohmann::json tied = nlohmann::json::parse(kConfig);
  tied["tie_word_embeddings"] = true;
  write("config.json", tied.dump());
  tensors.back().second = tensors.front().second;
  write_weights(tensors);
  EXPECT_EQ(error_of(dir()), "no error");
  tensors.back().second = tensors.front().second + 1;
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("but their values differ: set tie_word_embeddings to false"));
  tensors.back().first = "extra.weight";
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("'extra.weight' has no place in the model"));
}

TEST_F(LoadTest, RefusesWeightsThatAreNotOfFloatingPoint) {
  auto tensors = parameters();
  tensors[0].second = at::zeros({11, 8}, at::kChar);
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("'model.embed_tokens.weight' is I8, not of floating point"));
}

TEST_F(LoadTest, RefusesQuantisedFloatingPointWhoseScalesWouldBeLost) {
  auto tensors = parameters();
  tensors[0].second = tensors[0].second.detach().to(at::kFloat8_e4m3fn);
  write_weights(tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("'model.embed_tokens.weight' is F8_E4M3, not of floating point in 16 bits"));
}

TEST_F(LoadTest, RefusesOtherFormatsInsteadOfDrawingWeights) {
  write("pytorch_model.bin", "");
  EXPECT_THAT(error_of(dir()), HasSubstr("holds pytorch_model.bin but no model.safetensors: convert it"));
}

TEST_F(LoadTest, ChecksTheIndexOfShards) {
  const auto tensors = parameters();
  write("model.safetensors.index.json", "{}");
  EXPECT_THAT(error_of(dir()), HasSubstr("model.safetensors.index.json: it has no weight_map"));
  write("model.safetensors.index.json", R"({"weight_map": {"a": "../a.safetensors"}})");
  EXPECT_THAT(error_of(dir()), HasSubstr("tensor 'a' is not mapped to a file name"));
  write("model.safetensors.index.json", R"({"weight_map": {"a": "s.safetensors"}})");
  EXPECT_THAT(error_of(dir()), HasSubstr("s.safetensors: No such file"));
  write_safetensors(file("s.safetensors"), tensors);
  EXPECT_THAT(error_of(dir()), HasSubstr("tensor 'a' is not in s.safetensors as the index says"));
}

TEST_F(LoadTest, SavesWhatItLoads) {
  write("tokenizer.json", "{\"a\": 1}");
  const auto model = load(dir(), at::kBFloat16);
  const std::string out = file("out");
  throw_if_error(MakeDirectories(out));
  throw_if_error(WriteFileAtomically(out + "/model-00001-of-00002.safetensors", "stale"));
  throw_if_error(WriteFileAtomically(out + "/model.safetensors.index.json", "stale"));
  save_model(*model, out);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("config.json", "model.safetensors", "tokenizer.json"));
  const auto back = load(out, at::kBFloat16);
  const auto before = model->parameters();
  const auto after = back->parameters();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].first, after[i].first);
    EXPECT_TRUE(before[i].second.equal(after[i].second)) << before[i].first;
  }
  const auto config = nlohmann::json::parse(value_or_throw(ReadFile(out + "/config.json")));
  EXPECT_EQ(config["torch_dtype"], "bfloat16");
  EXPECT_EQ(config["architectures"], nlohmann::json({"LlamaForCausalLM"}));
}

TEST_F(LoadTest, NamesAnOutputFolderThatIsAFile) {
  write("out", "");
  EXPECT_THROW(save_model(*load(dir()), file("out")), StatusError);
}

}  // namespace
}  // namespace assay::engine
