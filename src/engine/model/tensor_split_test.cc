#include "engine/model/tensor_split.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "engine/model/decoder.h"
#include "engine/model/vit.h"

namespace assay::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TensorSplit, IsTheModelsOwn) {
  const std::string layer = "model.layers.0.";
  EXPECT_EQ(split_of(decoder_split_rules(), layer + "self_attn.q_proj.bias"), TensorSplit::kRows);
  EXPECT_EQ(split_of(decoder_split_rules(), layer + "mlp.down_proj.weight"), TensorSplit::kColumns);
  EXPECT_EQ(split_of(decoder_split_rules(), layer + "mlp.down_proj.bias"), TensorSplit::kFirstRank);
  EXPECT_EQ(split_of(decoder_split_rules(), layer + "self_attn.k_norm.weight"), TensorSplit::kShared);
  EXPECT_EQ(split_of(decoder_split_rules(), layer + "input_layernorm.weight"), TensorSplit::kReplicated);
  EXPECT_EQ(split_of(decoder_split_rules(), "model.embed_tokens.weight"), TensorSplit::kReplicated);
  EXPECT_EQ(split_of(vit_split_rules(), "vit.encoder.layer.0.intermediate.dense.weight"), TensorSplit::kRows);
  EXPECT_EQ(split_of(vit_split_rules(), layer + "self_attn.q_proj.weight"), TensorSplit::kReplicated);
}

TEST(TensorSplit, OfAnAdapterGoesWithItsLayer) {
  const SplitRules rules = decoder_split_rules();
  const std::string layer = "base_model.model.model.layers.0.";
  EXPECT_EQ(split_of(rules, layer + "self_attn.q_proj.lora_A.weight"), TensorSplit::kShared);
  EXPECT_EQ(split_of(rules, layer + "self_attn.q_proj.lora_B.weight"), TensorSplit::kRows);
  EXPECT_EQ(split_of(rules, layer + "mlp.down_proj.lora_A.weight"), TensorSplit::kColumns);
  EXPECT_EQ(split_of(rules, layer + "mlp.down_proj.lora_B.weight"), TensorSplit::kShared);
}

TEST(TensorSplit, PartsAreJoinedAgain) {
  const SplitRules rules = decoder_split_rules();
  const at::Tensor whole = at::arange(24, at::kFloat).view({4, 6});
  for (const char* name : {"a.q_proj.weight", "a.o_proj.weight"}) {
    const at::Tensor parts[] = {cut_for_rank(rules, name, whole, {0, 2}), cut_for_rank(rules, name, whole, {1, 2})};
    EXPECT_EQ(parts[0].numel(), 12);
    EXPECT_TRUE(at::equal(join_parts(rules, name, {parts[0], parts[1]}), whole)) << name;
    EXPECT_THAT(whole_shape(rules, name, parts[1].sizes().vec(), 2), ElementsAre(4, 6));
  }
  EXPECT_FALSE(cut_for_rank(rules, "a.o_proj.bias", whole, {1, 2}).defined());
  EXPECT_TRUE(cut_for_rank(rules, "a.norm.weight", whole, {1, 2}).is_same(whole));
}

TEST(TensorSplit, WhatDoesNotDivideIsNamed) {
  try {
    cut_for_rank(decoder_split_rules(), "a.q_proj.weight", at::zeros({4, 6}), {0, 3});
    FAIL() << "4 rows were cut in 3";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.q_proj.weight: its 4 features do not divide over 3 tensor ranks"));
  }
}

}  // namespace
}  // namespace assay::engine
