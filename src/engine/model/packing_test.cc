#include "engine/model/packing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "architecture/model_config.h"
#include "engine/kernels/packed_weight.h"
#include "engine/model/decoder.h"
#include "engine/model/random_parameter.h"

namespace assay::engine {
namespace {

ModelConfig config_of(bool tied) {
  return architecture::ParseModelConfig(
             R"({"model_type": "qwen3", "vocab_size": 40, "hidden_size": 32, "intermediate_size": 48,
                 "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
                 "tie_word_embeddings": )" +
                 std::string(tied ? "true}" : "false}"),
             "config.json")
      .value();
}

PackedBatch one_row(int64_t tokens) {
  PackedBatch batch;
  batch.ids_T = at::arange(tokens);
  batch.positions_T = at::arange(tokens);
  batch.row_offsets = {0, tokens};
  batch.row_offsets_R1 = at::tensor({0, static_cast<int>(tokens)}, at::kInt);
  batch.longest_row = tokens;
  return batch;
}

class PackingTest : public testing::TestWithParam<bool> {};

TEST_P(PackingTest, TakesTheHeadTooAndChangesNoBit) {
  const at::NoGradGuard no_grad;
  Decoder model(config_of(GetParam()),
                [](const ParameterSpec& spec) { return random_parameter(spec, 0.2, at::kBFloat16, 1); });
  const std::vector<Linear*> linears = model.linears_and_head();
  ASSERT_EQ(linears.size(), 2 * 7 + 1);
  const bool suits = PackedWeight::suits(linears.front()->weight_OI);  // of this processor
  int64_t bytes = 0;
  for (const Linear* linear : linears) {
    bytes += static_cast<int64_t>(linear->weight_OI.nbytes());
  }
  EXPECT_EQ(packed_bytes(linears, true), suits ? 2 * bytes : 0) << "one copy for each direction";
  EXPECT_EQ(packed_bytes(linears, false), suits ? bytes : 0) << "none goes back";
  linears[7]->lora.emplace().a_rI = at::zeros({2, 32}).requires_grad_();
  linears[7]->lora->b_Or = at::zeros({32, 2}).requires_grad_();
  int64_t behind = 0;
  for (size_t i = 8; i < linears.size(); ++i) {
    behind += static_cast<int64_t>(linears[i]->weight_OI.nbytes());
  }
  EXPECT_EQ(packed_bytes(linears, false), suits ? bytes + behind : 0) << "those behind the second layer's first";
  linears[7]->lora.reset();
  const at::Tensor plain_TV = model.logits(one_row(12));
  pack_frozen_weights(linears);
  for (const Linear* linear : linears) {
    EXPECT_EQ(linear->frozen != nullptr, suits) << linear->path;
  }
  EXPECT_TRUE(model.logits(one_row(12)).equal(plain_TV));
}

INSTANTIATE_TEST_SUITE_P(Heads, PackingTest, testing::Values(false, true));

}  // namespace
}  // namespace assay::engine
