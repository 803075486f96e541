// DoRA against its formula in libtorch, as peft has it.
#include "engine/kernels/dora.h"

#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::for_each_isa;
using testing::relative_error;
using testing::Tensors;

constexpr double kScale = 0.7;

/// x, W, b, A, B, magnitude.
Tensors inputs_of(at::ScalarType dtype) {
  at::manual_seed(3);
  Tensors in = {at::randn({9, 33}),       at::randn({21, 33}), at::randn({21}),
                at::randn({4, 33}) * 0.3, at::randn({21, 4}),  at::rand({21}) + 0.5};
  for (size_t i = 0; i < 3; ++i) {
    in[i] = in[i].to(dtype);
  }
  for (const size_t trained : {0, 3, 4, 5}) {
    in[trained].set_requires_grad(true);
  }
  return in;
}

at::Tensor ours(const Tensors& in, const std::optional<DropoutDraw>& drops) {
  return dora_linear(in[0], in[1], in[2], {.a_rI = in[3], .b_Or = in[4], .scale = kScale, .drops = drops},
                     {in[5], row_squares(in[1])});
}

at::Tensor plain(const Tensors& in, const std::optional<DropoutDraw>& drops) {
  const at::Tensor x = in[0].to(at::kFloat);
  const at::Tensor weight = in[1].to(at::kFloat);
  const at::Tensor dropped = drops ? x * dropout_mask(*drops) / (1 - drops->chance) : x;
  const at::Tensor directions = weight + kScale * at::mm(in[4], in[3]);
  const at::Tensor factors = in[5] / at::linalg_vector_norm(directions, 2, 1).detach();
  return at::mm(x, weight.t()) + in[2].to(at::kFloat) +
         at::mm(dropped, (directions * factors.unsqueeze(1) - weight).t());
}

Tensors results_of(const at::Tensor& y, const Tensors& in) {
  at::manual_seed(4);
  (y * at::randn(y.sizes())).sum().backward();
  return {y.detach(), in[0].grad(), in[3].grad(), in[4].grad(), in[5].grad()};
}

void expect_same(at::ScalarType dtype, const std::optional<DropoutDraw>& drops, double tolerance) {
  const Tensors a = inputs_of(dtype);
  const Tensors b = inputs_of(dtype);
  const Tensors got = results_of(ours(a, drops), a);
  const Tensors want = results_of(plain(b, drops), b);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].sizes(), want[i].sizes());
    EXPECT_LT(relative_error(got[i], want[i]), tolerance) << "result " << i;
  }
}

TEST(DoraLinear, IsItsFormula) {
  for_each_isa([] {
    expect_same(at::kFloat, {}, 1e-5);
    expect_same(at::kBFloat16, {}, 2e-2);
  });
}

TEST(DoraLinear, DropsWhatTheChangeReads) {
  const DropoutDraw drops{.keys_T = at::arange(9, at::kLong), .stream = 5, .chance = 0.4, .features = 33};
  for_each_isa([&] {
    expect_same(at::kFloat, drops, 1e-5);
    expect_same(at::kBFloat16, drops, 2e-2);
  });
}

TEST(DoraLinear, WithTheLengthsOfTheWeightAndNoUpdateItIsTheWeight) {
  const Tensors in = inputs_of(at::kFloat);
  const at::Tensor squares = row_squares(in[1]);
  const at::Tensor y =
      dora_linear(in[0], in[1], in[2], {.a_rI = in[3], .b_Or = at::zeros_like(in[4])}, {squares.sqrt(), squares});
  EXPECT_LT(relative_error(y, engine::linear(in[0], in[1], in[2])), 1e-6);
}

}  // namespace
}  // namespace assay::engine
