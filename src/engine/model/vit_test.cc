#include "engine/model/vit.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "engine/model/load_image_classifier.h"
#include "engine/model/random_parameter.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

constexpr char kTiny[] = R"({"model_type": "vit", "image_size": 8, "patch_size": 4, "hidden_size": 24,
  "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 2,
  "id2label": {"0": "cat", "1": "dog", "2": "emu"}})";

VitConfig tiny() {
  return parse_vit_config(kTiny, "config.json");
}

Vit make_vit(const VitConfig& config, at::ScalarType dtype = at::kFloat, at::ScalarType compute = at::kFloat) {
  const ParameterSource source = [&](const ParameterSpec& spec) {
    return random_parameter(spec, 0.2, dtype, 1).requires_grad_();
  };
  return Vit(config, source, compute);
}

struct Batch {
  at::Tensor pixels = [] {
    at::manual_seed(2);
    return at::randn({3, 3, 8, 8});
  }();
  at::Tensor labels = at::tensor({2, 0, 1}, at::kLong);
};

/// The loss and then every gradient.
std::vector<at::Tensor> run(Vit& model) {
  const Batch batch;
  const at::Tensor loss = model.loss(batch.pixels, batch.labels);
  loss.backward();
  std::vector<at::Tensor> results{loss.detach()};
  for (const auto& [name, parameter] : model.parameters()) {
    results.push_back(parameter.grad().clone());
    parameter.mutable_grad().reset();
  }
  return results;
}

TEST(VitConfig, ReadsWhatTransformersWrites) {
  const VitConfig config = tiny();
  EXPECT_EQ(config.num_labels, 3);
  EXPECT_EQ(config.tokens(), 5);
  EXPECT_EQ(config.head_dim(), 12);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  const VitConfig standard = parse_vit_config(R"({"model_type": "vit", "image_size": [224, 224]})", "c");
  EXPECT_EQ(standard.tokens(), 197);
  EXPECT_EQ(standard.num_labels, 2);
}

TEST(VitConfig, NamesWhatItRefuses) {
  const std::map<std::string, std::string> cases = {
      {R"({"model_type": "llama"})", "model_type 'llama' is not supported"},
      {R"({"model_type": "vit", "hidden_dropout_prob": 0.1})", "hidden_dropout_prob other than 0"},
      {R"({"model_type": "vit", "hidden_act": "relu"})", "hidden_act 'relu'"},
      {R"({"model_type": "vit", "image_size": [224, 192]})", "image_size [224,192] is not supported, only squares"},
      {R"({"model_type": "vit", "image_size": 100})", "patch_size 16 does not divide image_size 100"},
      {R"({"model_type": "vit", "num_attention_heads": 5})", "num_attention_heads 5 does not divide hidden_size 768"},
      {R"({"model_type": "vit", "num_labels": 1})", "regression"}};
  for (const auto& [json, message] : cases) {
    try {
      parse_vit_config(json, "config.json");
      ADD_FAILURE() << json;
    } catch (const StatusError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST(VitConfig, OfEveryNamedModelIsRead) {
  int read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(ASSAY_SOURCE_DIR "/share/models")) {
    if (file.path().filename() == "config.json" && ReadJsonFile(file.path().string())->at("model_type") == "vit") {
      EXPECT_NO_THROW(read_vit_config(file.path().parent_path().string())) << file.path();
      ++read;
    }
  }
  EXPECT_GT(read, 5);
}

TEST(Vit, HasTheSizeOfViTB16) {
  const VitConfig config =
      with_labels(parse_vit_config(R"({"model_type": "vit"})", "config.json"), std::vector<std::string>(1000, "label"));
  const ParameterSource source = [](const ParameterSpec& spec) {
    return at::empty(spec.shape, at::TensorOptions().device(at::kMeta));
  };
  const Vit model(config, source, at::kFloat);
  const std::vector<NamedTensor> parameters = model.parameters();
  int64_t elements = 0;
  for (const auto& [name, parameter] : parameters) {
    elements += parameter.numel();
  }
  EXPECT_EQ(parameters.size(), 200U);
  EXPECT_EQ(elements, 86'567'656);
  EXPECT_NEAR(model.forward_flops(), 35.128e9, 1e6);
}

TEST(Vit, UnitsHoldEveryParameterOnce) {
  Vit model = make_vit(tiny());
  std::set<const void*> seen;
  size_t count = 0;
  for (const ParameterUnit& unit : model.units()) {
    EXPECT_TRUE(unit.also_uses.empty());
    for (const ParameterRef& parameter : unit.parameters) {
      seen.insert(parameter.tensor->const_data_ptr());
      ++count;
    }
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(count, model.parameters().size());
  EXPECT_EQ(model.units().size(), 5U);
}

class Recorder : public UnitHooks {
 public:
  at::Tensor before_forward(int64_t unit, const at::Tensor& input, bool again) override {
    calls.push_back((again ? "again in " : "in ") + std::to_string(unit));
    return input;
  }
  at::Tensor after_forward(int64_t unit, const at::Tensor& output, bool again) override {
    calls.push_back((again ? "again out " : "out ") + std::to_string(unit));
    return output;
  }
  std::vector<std::string> calls;
};

TEST(Vit, CallsHooksAroundEveryUnitAndAgainInBackward) {
  Vit model = make_vit(tiny());
  Recorder recorder;
  model.set_unit_hooks(&recorder);
  model.set_checkpointed_layers(2);
  run(model);
  EXPECT_THAT(recorder.calls,
              ::testing::ElementsAre("in 0", "out 0", "in 1", "out 1", "in 2", "out 2", "in 3", "out 3", "in 4",
                                     "out 4", "again in 2", "again out 2", "again in 1", "again out 1"));
}

TEST(Vit, GradientCheckpointingChangesNoBit) {
  for (const auto& [dtype, compute] : std::vector<std::pair<at::ScalarType, at::ScalarType>>{
           {at::kFloat, at::kFloat}, {at::kBFloat16, at::kBFloat16}, {at::kFloat, at::kBFloat16}}) {
    Vit model = make_vit(tiny(), dtype, compute);
    const std::vector<at::Tensor> plain = run(model);
    for (const int64_t layers : {1, 3}) {
      model.set_checkpointed_layers(layers);
      const std::vector<at::Tensor> again = run(model);
      for (size_t i = 0; i < plain.size(); ++i) {
        EXPECT_TRUE(again[i].equal(plain[i])) << "result " << i << " with " << layers << " layers";
      }
    }
  }
}

TEST(Vit, MixedPrecisionKeepsGradientsInFloat32AndFollowsFloat32) {
  Vit exact = make_vit(tiny());
  Vit mixed = make_vit(tiny(), at::kFloat, at::kBFloat16);
  EXPECT_EQ(mixed.logits(Batch().pixels).scalar_type(), at::kBFloat16);
  const std::vector<at::Tensor> want = run(exact);
  const std::vector<at::Tensor> got = run(mixed);
  EXPECT_EQ(got[0].scalar_type(), at::kFloat);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), at::kFloat);
    const double error = (got[i] - want[i]).norm().item<double>();
    // A constant added to every key changes no score: the gradient of that bias is rounding alone.
    EXPECT_LE(error, 0.06 * want[i].norm().item<double>() + 5e-3) << "result " << i;
  }
}

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(dir_ + "/config.json") << kTiny;
    std::ofstream(dir_ + "/preprocessor_config.json") << "{}";
  }

  const TemporaryDirectory folder_ = *TemporaryDirectory::Create("vit-test");
  const std::string dir_ = folder_.path();
};

TEST_F(Folder, WhatIsSavedIsLoadedAgain) {
  const LoadedImageClassifier fresh = load_image_classifier(dir_, {.seed = 5});
  EXPECT_TRUE(fresh.random_weights);
  EXPECT_EQ(fresh.new_head, "");
  const std::string out = dir_ + "/out";
  save_image_classifier(*fresh.model, out);
  EXPECT_TRUE(std::filesystem::exists(out + "/preprocessor_config.json"));
  const LoadedImageClassifier again = load_image_classifier(out, {});
  EXPECT_FALSE(again.random_weights);
  const auto before = fresh.model->parameters();
  const auto after = again.model->parameters();
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(after[i].second.equal(before[i].second)) << before[i].first;
  }
}

TEST_F(Folder, OtherClassesGetANewHeadAndSaySo) {
  const std::string out = dir_ + "/out";
  save_image_classifier(*load_image_classifier(dir_, {}).model, out);
  EXPECT_EQ(load_image_classifier(out, {.labels = {"a", "b", "c"}}).new_head, "");
  const LoadedImageClassifier other = load_image_classifier(out, {.labels = {"a", "b"}});
  EXPECT_THAT(other.new_head, HasSubstr("is for 3 classes: the head for 2 classes starts from random weights"));
  EXPECT_EQ(other.model->config().num_labels, 2);
  EXPECT_THAT(other.model->config().json, HasSubstr(R"("id2label":{"0":"a","1":"b"})"));
}

TEST_F(Folder, TheBareModelsCheckpointServes) {
  const LoadedImageClassifier whole = load_image_classifier(dir_, {});
  std::vector<NamedTensor> bare{{"pooler.dense.weight", at::ones({2, 2})}};
  for (const auto& [name, parameter] : whole.model->parameters()) {
    if (name.starts_with("vit.")) {
      bare.emplace_back(name.substr(4), parameter.detach());
    }
  }
  write_safetensors(dir_ + "/model.safetensors", bare);
  const LoadedImageClassifier loaded = load_image_classifier(dir_, {});
  EXPECT_THAT(loaded.new_head, HasSubstr("holds no classifier"));
  EXPECT_TRUE(loaded.model->parameters()[0].second.equal(whole.model->parameters()[0].second));
}

TEST_F(Folder, RefusesDtypesThatDoNotGoTogether) {
  EXPECT_THROW(load_image_classifier(dir_, {.dtype = at::kBFloat16, .compute_dtype = at::kFloat}),
               std::invalid_argument);
}

}  // namespace
}  // namespace assay::engine
