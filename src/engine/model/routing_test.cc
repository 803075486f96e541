#include "engine/model/routing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/kernels/shape_memory.h"

namespace assay::engine {
namespace {

// Three tokens, four experts, two for each token: {1, 2}, {3, 1}, {2, 1}; the first expert has none.
const at::Tensor& logits_TE() {
  static const at::Tensor logits =
      at::tensor({0.0F, 3.0F, 2.0F, 1.0F, 0.0F, 1.0F, 0.5F, 2.0F, 0.0F, 1.0F, 4.0F, 0.5F}).view({3, 4});
  return logits;
}

TEST(Routing, SortsTokensByExpert) {
  const Routing routing = route(logits_TE(), 2, 0, 4);
  EXPECT_EQ(routing.offsets, (std::vector<int64_t>{0, 0, 3, 5, 6}));
  EXPECT_TRUE(routing.slots_S.equal(at::tensor({0, 3, 5, 1, 4, 2}, at::kLong)));
  const float first = 1 / (1 + std::exp(-1.0F));  // of logits 3 and 2
  EXPECT_NEAR(routing.weights_S[0].item<float>(), first, 1e-6);
  EXPECT_NEAR(routing.weights_S[3].item<float>(), 1 - first, 1e-6);
}

TEST(Routing, PartsOfTheExpertsHaveTheRowsOfAll) {
  const Routing all = route(logits_TE(), 2, 0, 4);
  const Routing first = route(logits_TE(), 2, 0, 2);
  const Routing second = route(logits_TE(), 2, 2, 2);
  EXPECT_TRUE(at::cat({first.slots_S, second.slots_S}).equal(all.slots_S));
  EXPECT_EQ(second.offsets, (std::vector<int64_t>{0, 2, 3}));
  const at::Tensor y_SH = at::arange(12, at::kFloat).view({6, 2});
  EXPECT_TRUE((tokens_of_rows(y_SH.narrow(0, 0, 3), first) + tokens_of_rows(y_SH.narrow(0, 3, 3), second))
                  .equal(tokens_of_rows(y_SH, all)));
}

TEST(Routing, RowsOfTokensAndTokensOfRowsAreEachOthersBackward) {
  const Routing routing = route(logits_TE(), 2, 0, 4);
  const at::Tensor x_TH = at::arange(6, at::kFloat).view({3, 2}).requires_grad_();
  const at::Tensor y_SH = at::arange(12, at::kFloat).view({6, 2}).requires_grad_();
  EXPECT_TRUE(rows_of_tokens(x_TH, routing)[4].equal(x_TH[2]));
  rows_of_tokens(x_TH, routing).backward(y_SH.detach());
  EXPECT_TRUE(x_TH.grad().equal(tokens_of_rows(y_SH, routing)));
  tokens_of_rows(y_SH, routing).backward(x_TH.detach());
  EXPECT_TRUE(y_SH.grad().equal(rows_of_tokens(x_TH, routing)));
}

TEST(Routing, OfShapesHasTheMostRowsThereMayBe) {
  const ShapeMemory memory;
  const at::Tensor logits = at::empty({8, 4}, at::TensorOptions(at::kFloat).device(at::kMeta));
  EXPECT_EQ(route(logits, 2, 0, 4).offsets, (std::vector<int64_t>{0, 4, 8, 12, 16})) << "all experts: every choice";
  EXPECT_EQ(route(logits, 2, 2, 2).offsets, (std::vector<int64_t>{0, 8, 16})) << "nobody chooses the others";
  EXPECT_EQ(route(logits, 2, 3, 1).offsets, (std::vector<int64_t>{0, 8})) << "no token chooses an expert twice";
}

TEST(Routing, ExpertsThatNobodyChoosesHaveNoRows) {
  const Routing routing = route(logits_TE(), 2, 0, 1);
  EXPECT_EQ(routing.offsets, (std::vector<int64_t>{0, 0}));
  const at::Tensor x_TH = at::arange(6, at::kFloat).view({3, 2}).requires_grad_();
  const at::Tensor rows_SH = rows_of_tokens(x_TH, routing);
  EXPECT_EQ(rows_SH.size(0), 0);
  const at::Tensor sums_TH = tokens_of_rows(rows_SH, routing);
  EXPECT_TRUE(sums_TH.equal(at::zeros({3, 2})));
  sums_TH.backward(at::ones({3, 2}));
  EXPECT_TRUE(x_TH.grad().equal(at::zeros({3, 2})));
}

}  // namespace
}  // namespace assay::engine
