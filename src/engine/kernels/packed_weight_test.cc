#include "engine/kernels/packed_weight.h"

#include "engine/kernels/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::Tensors;

at::Tensor random_matrix(at::IntArrayRef sizes) {
  return at::randn(sizes).to(at::kBFloat16);
}

class Packed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_fast_bfloat16_matmul()) {
      GTEST_SKIP() << "weights are packed for AVX-512 only";
    }
    at::manual_seed(8);
  }

  static FrozenWeightPtr pack(const at::Tensor& weight) { return c10::make_intrusive<PackedWeight>(weight); }
};

TEST_F(Packed, ProductsHaveTheBitsOfPlainOnes) {
  for (const auto& [out, in] : std::vector<std::pair<int64_t, int64_t>>{{96, 64}, {33, 50}, {576, 1536}, {1, 1}}) {
    const at::Tensor weight = random_matrix({out, in});
    const at::Tensor bias = random_matrix({out});
    const FrozenWeightPtr packed = pack(weight);
    for (const int64_t rows : {130, 1, 7, 512}) {
      const at::Tensor x = random_matrix({rows, in});
      const at::Tensor y = random_matrix({rows, out});
      EXPECT_TRUE(packed->product_nt(x, {}).equal(at::mm(x, weight.t()))) << rows << " x " << in << " x " << out;
      EXPECT_TRUE(packed->product_nt(x, bias).equal(at::addmm(bias, x, weight.t())));
      EXPECT_TRUE(packed->product_nn(y).equal(at::mm(y, weight))) << rows << " x " << out << " x " << in;
    }
  }
}

TEST_F(Packed, TellsOnceWhenTheWeightIsReadNoMore) {
  int calls = 0;
  const at::Tensor weight = random_matrix({8, 8});
  PackedWeight packed(weight, [&](const at::Tensor& done) { calls += done.is_same(weight) || done.equal(weight); });
  packed.product_nt(weight, {});
  EXPECT_EQ(calls, 0);
  packed.product_nn(weight);
  packed.product_nn(weight);
  EXPECT_EQ(calls, 1);
}

TEST_F(Packed, SuitsFrozenBfloat16Matrices) {
  const at::Tensor weight = random_matrix({8, 8});
  EXPECT_TRUE(PackedWeight::suits(weight));
  EXPECT_FALSE(PackedWeight::suits(weight.clone().set_requires_grad(true)));
  EXPECT_FALSE(PackedWeight::suits(weight.to(at::kFloat)));
  EXPECT_FALSE(PackedWeight::suits(weight.to(at::kHalf)));
  EXPECT_FALSE(PackedWeight::suits(weight.t()));
  EXPECT_FALSE(PackedWeight::suits(weight[0]));
}

/// Outputs and gradients of a linear layer, one with LoRA and the loss, all with the same frozen weight.
Tensors outputs(const Tensors& leaves, const at::Tensor& weight, const FrozenWeightPtr& packed) {
  const at::Tensor positions = at::arange(0, leaves[0].size(0), 2, at::kLong);
  const auto operation = [&](const Tensors& in) -> Tensors {
    const at::Tensor plain = linear(in[0], weight, std::nullopt, {}, Output::kComputed, packed);
    const at::Tensor updated = lora_linear(plain, weight, std::nullopt, {in[1].to(at::kFloat), in[2].to(at::kFloat)},
                                           {}, Output::kComputed, packed);
    return {plain, linear_cross_entropy_sum(updated, weight, positions, positions.remainder(64), 2.0, packed)};
  };
  return testing::run(operation, leaves, {true, true, true}, at::kBFloat16);
}

TEST_F(Packed, OperationsHaveTheBitsOfPlainOnes) {
  const at::Tensor weight = random_matrix({64, 64}) * 0.2;
  const Tensors leaves = {at::randn({90, 64}), at::randn({4, 64}), at::randn({64, 4})};
  const Tensors want = outputs(leaves, weight, {});
  const Tensors got = outputs(leaves, weight, pack(weight));
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(got[i].equal(want[i])) << "result " << i;
  }
}

TEST(UnsetOutput, HasTheGradientsOfAComputedOne) {
  at::manual_seed(9);
  const at::Tensor weight = at::randn({6, 5});
  for (const bool with_lora : {false, true}) {
    Tensors gradients[2];
    for (const Output output : {Output::kComputed, Output::kUnset}) {
      at::manual_seed(10);
      const Tensors in = {at::randn({4, 5}).set_requires_grad(true), at::randn({2, 5}).set_requires_grad(true),
                          at::randn({6, 2}).set_requires_grad(true)};
      const at::Tensor y = with_lora ? lora_linear(in[0], weight, std::nullopt, {in[1], in[2]}, {}, output)
                                     : linear(in[0], weight, std::nullopt, {}, output);
      ASSERT_EQ(y.sizes(), at::IntArrayRef({4, 6}));
      torch::autograd::backward({y}, {at::ones({4, 6})});
      for (size_t i = 0; i < (with_lora ? in.size() : 1); ++i) {
        gradients[output == Output::kUnset ? 1 : 0].push_back(in[i].grad());
      }
    }
    for (size_t i = 0; i < gradients[0].size(); ++i) {
      EXPECT_TRUE(gradients[0][i].equal(gradients[1][i])) << "input " << i;
    }
  }
}

}  // namespace
}  // namespace assay::engine
