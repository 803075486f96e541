// Which layers are quantised, and what becomes of the rest; values are held against auto-gptq in tests/engine.
#include "engine/model/quantized_layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "engine/model/load.h"
#include "engine/model/packing.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

constexpr char kSizes[] = R"("vocab_size": 11, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
  "num_attention_heads": 2, "attention_bias": true)";
constexpr char kGptq[] = R"("quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32})";
constexpr int64_t kProductsOfLayer = 7;

class QuantizedLayersTest : public ::testing::Test {
 protected:
  void write(const std::string& config) {
    throw_if_error(WriteFileAtomically(folder_.path() + "/config.json", R"({"model_type": "llama", )" + config + "}"));
  }

  std::unique_ptr<CausalLM> load(const Quantization& quantize = {}, at::ScalarType dtype = at::kFloat) {
    bool random_weights = false;
    return load_model(folder_.path(), dtype, at::kCPU, 1, random_weights, {}, {}, {}, quantize);
  }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("quantised"));
};

int64_t quantized(CausalLM& model) {
  int64_t count = 0;
  for (const Linear* linear : model.linears_and_head()) {
    count += linear->frozen ? 1 : 0;
  }
  return count;
}

TEST_F(QuantizedLayersTest, NothingIsUnlessItIsAskedFor) {
  write(kSizes);
  EXPECT_EQ(quantized(*load()), 0);
}

TEST_F(QuantizedLayersTest, TheProductsOfLayersAreAndTheRestIsAsItWas) {
  write(kSizes);
  const auto plain = load();
  const auto model = load({.bits = 8, .group_size = 32});
  EXPECT_EQ(quantized(*model), 2 * kProductsOfLayer) << "the head is none of them";
  const auto of_plain = plain->parameters();
  const auto of_model = model->parameters();
  ASSERT_EQ(of_plain.size(), of_model.size());
  for (size_t i = 0; i < of_model.size(); ++i) {
    const auto& [name, tensor] = of_model[i];
    EXPECT_EQ(tensor.sizes(), of_plain[i].second.sizes()) << name;
    const bool is_product = name.find("_proj.weight") != std::string::npos;
    EXPECT_EQ(tensor.requires_grad(), !is_product) << name;
    EXPECT_TRUE(is_product || tensor.equal(of_plain[i].second)) << name;
  }
}

TEST_F(QuantizedLayersTest, WeightsAreNearThoseThatWereRounded) {
  write(kSizes);
  const auto plain = load();
  const auto model = load({.bits = 8, .group_size = 32});
  const at::Tensor x = at::randn({3, 64});
  const at::Tensor want = at::linear(x, plain->linears().front()->weight_OI.detach());
  const at::Tensor got = model->linears().front()->frozen->product_nt(x, {});
  EXPECT_LT((got - want).norm().item<double>(), 0.01 * want.norm().item<double>());
  EXPECT_GT((got - want).norm().item<double>(), 0);
}

TEST_F(QuantizedLayersTest, OfAQuantisedFolderWithoutWeightsTheyAreDrawnAndRounded) {
  write(std::string(kSizes) + ", " + kGptq);
  EXPECT_EQ(quantized(*load()), 2 * kProductsOfLayer);
}

TEST_F(QuantizedLayersTest, OtherFormsOfFrozenWeightsLeaveThemAlone) {
  write(kSizes);
  const auto model = load({.bits = 4, .group_size = 32}, at::kBFloat16);
  const FrozenWeightPtr before = model->linears().front()->frozen;
  pack_frozen_weights(model->linears_and_head());
  EXPECT_EQ(model->linears().front()->frozen, before);
  EXPECT_EQ(packed_bytes(model->linears(), true), 0);
}

TEST_F(QuantizedLayersTest, NamesALayerWhoseSizesFillNoWords) {
  write(R"("vocab_size": 11, "hidden_size": 64, "intermediate_size": 90, "num_hidden_layers": 1,
    "num_attention_heads": 2)");
  try {
    load({.bits = 4, .group_size = 32});
    ADD_FAILURE() << "no error";
  } catch (const StatusError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'model.layers.0.mlp.down_proj' has 90 inputs and 64 outputs"));
  }
}

}  // namespace
}  // namespace assay::engine
