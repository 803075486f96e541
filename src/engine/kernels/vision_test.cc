// GELU, LayerNorm, patch embedding, attention over whole rows and mixed precision against plain libtorch in float64.
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "engine/kernels/op_table.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::expect_matches;
using testing::for_each_isa;
using testing::kPrecisions;
using testing::make_batch;
using testing::random;
using testing::relative_error;
using testing::Tensors;

constexpr double kVisionEps = 1e-12;

const std::vector<std::vector<int64_t>> kVisionShapes = {{1, 8}, {1, 33}, {7, 96}, {130, 51}, {197, 768}};

at::Tensor plain_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, kVisionEps);
}

TEST(LayerNorm, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const auto& shape : kVisionShapes) {
      // A mean far from zero: the variance must not be taken as the difference of two large numbers.
      const Tensors inputs = {random(shape) + 3.0, random({shape[1]}, 2), random({shape[1]}, 3)};
      for (const std::vector<bool>& grads :
           {std::vector<bool>{true, true, true}, {true, false, false}, {false, true, true}}) {
        expect_matches([](const Tensors& in) -> Tensors { return {layer_norm(in[0], in[1], in[2], kVisionEps)}; },
                       [](const Tensors& in) -> Tensors { return {plain_norm(in[0], in[1], in[2])}; }, inputs, grads,
                       precision, "layer_norm");
      }
    }
  }
}

TEST(AddLayerNorm, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const auto& shape : kVisionShapes) {
      const Tensors inputs = {random(shape), random(shape, 4), random({shape[1]}, 2), random({shape[1]}, 3)};
      expect_matches(
          [&](const Tensors& in) -> Tensors {
            const auto [sum, normed] = add_layer_norm(in[0], in[1], in[2], in[3], kVisionEps);
            return {sum, normed};
          },
          [&](const Tensors& in) -> Tensors {
            const at::Tensor sum = in[0] + in[1];
            return {sum, plain_norm(sum, in[2], in[3])};
          },
          inputs, {true, true, true, true}, precision, "add_layer_norm");
    }
  }
}

TEST(AddLayerNorm, EitherOutputAloneCarriesTheGradient) {
  for (const bool use_norm : {false, true}) {
    const auto pick = [use_norm](const at::Tensor& sum, const at::Tensor& normed) -> Tensors {
      return {use_norm ? normed : sum};
    };
    expect_matches(
        [&](const Tensors& in) {
          const auto [sum, normed] = add_layer_norm(in[0], in[1], in[2], in[2], kVisionEps);
          return pick(sum, normed);
        },
        [&](const Tensors& in) {
          const at::Tensor sum = in[0] + in[1];
          return pick(sum, plain_norm(sum, in[2], in[2]));
        },
        {random({6, 40}), random({6, 40}, 3), random({40}, 2)}, {true, true, false}, kPrecisions[0], "one output");
  }
}

/// Residual and parameters in float32, the block and the norm in 16 bits.
TEST(AddLayerNorm, Float32ResidualBesideA16BitBlock) {
  for (const auto& precision : {kPrecisions[1], kPrecisions[2]}) {
    const at::Tensor block = random({37, 51}, 4);
    expect_matches(
        [&](const Tensors& in) -> Tensors {
          const auto [sum, normed] =
              add_layer_norm(in[0].to(at::kFloat), in[1], in[2].to(at::kFloat), in[3].to(at::kFloat), kVisionEps);
          EXPECT_EQ(sum.scalar_type(), at::kFloat);
          EXPECT_EQ(normed.scalar_type(), precision.dtype);
          const at::Tensor first =
              layer_norm(sum, in[2].to(at::kFloat), in[3].to(at::kFloat), kVisionEps, precision.dtype);
          EXPECT_TRUE(first.equal(normed));
          return {sum, normed, first};
        },
        [&](const Tensors& in) -> Tensors {
          const at::Tensor sum = in[0] + in[1];
          const at::Tensor normed = plain_norm(sum, in[2], in[3]);
          return {sum, normed, normed * 1};
        },
        {random({37, 51}), block, random({51}, 2), random({51}, 3)}, {true, true, true, true}, precision, "mixed");
  }
}

TEST(Gelu, MatchesLibtorchInBothForms) {
  for (const auto& precision : kPrecisions) {
    for (const auto& shape : kVisionShapes) {
      for (const bool tanh_form : {false, true}) {
        expect_matches(
            [&](const Tensors& in) -> Tensors { return {gelu(in[0], tanh_form ? GeluForm::kTanh : GeluForm::kErf)}; },
            [&](const Tensors& in) -> Tensors { return {at::gelu(in[0], tanh_form ? "tanh" : "none")}; },
            {random(shape) * 2}, {true}, precision, "gelu");
      }
    }
  }
}

TEST(Gelu, LargeArgumentsStayFinite) {
  for_each_isa([] {
    const at::Tensor x = at::tensor({-200.0F, -12.0F, 0.0F, 12.0F, 200.0F});
    for (const bool tanh_form : {false, true}) {
      const at::Tensor y = gelu(x, tanh_form ? GeluForm::kTanh : GeluForm::kErf);
      EXPECT_TRUE(y.allclose(at::gelu(x, tanh_form ? "tanh" : "none"), 1e-6, 1e-6));
    }
  });
}

struct AttentionCase {
  std::vector<int64_t> lengths;
  int64_t heads;
  int64_t groups;
  int64_t head_dim;
};

TEST(WholeRowAttention, MatchesLibtorch) {
  const std::vector<AttentionCase> cases = {
      {{1}, 1, 1, 8}, {{1, 5, 64}, 4, 2, 16}, {{197, 197}, 3, 3, 64}, {{600, 3}, 2, 1, 40}};
  for (const AttentionCase& c : cases) {
    const PackedBatch batch = make_batch(c.lengths);
    const AttentionOptions options{.query_heads = c.heads,
                                   .key_value_heads = c.groups,
                                   .head_dim = c.head_dim,
                                   .scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim)),
                                   .causal = false};
    const Tensors inputs = {random({batch.tokens(), c.heads * c.head_dim}),
                            random({batch.tokens(), c.groups * c.head_dim}, 2),
                            random({batch.tokens(), c.groups * c.head_dim}, 3)};
    for (const auto& precision : kPrecisions) {
      expect_matches(
          [&](const Tensors& in) -> Tensors { return {attention(in[0], in[1], in[2], batch, nullptr, options)}; },
          [&](const Tensors& in) -> Tensors {
            return {reference::attention(in[0], in[1], in[2], batch, nullptr, options)};
          },
          inputs, {true, true, true}, precision, "first row " + std::to_string(c.lengths[0]));
    }
  }
}

/// Scores so low that a padded key's, which is 0, would drown all others if it counted.
TEST(WholeRowAttention, PaddedKeysDoNotCount) {
  const PackedBatch batch = make_batch({70});
  const AttentionOptions options{.query_heads = 1, .key_value_heads = 1, .head_dim = 16, .scale = 1.0, .causal = false};
  const at::Tensor q = at::full({70, 16}, 4.0, at::kDouble) + random({70, 16}) * 0.1;
  const at::Tensor k = at::full({70, 16}, -4.0, at::kDouble) + random({70, 16}, 2) * 0.1;
  expect_matches(
      [&](const Tensors& in) -> Tensors { return {attention(in[0], in[1], in[2], batch, nullptr, options)}; },
      [&](const Tensors& in) -> Tensors {
        return {reference::attention(in[0], in[1], in[2], batch, nullptr, options)};
      },
      {q, k, random({70, 16}, 3)}, {true, true, true}, {at::kFloat, 1e-4}, "padded keys");
}

TEST(WholeRowAttention, RefusesASlidingWindow) {
  const PackedBatch batch = make_batch({4});
  const at::Tensor x = at::ones({4, 8});
  const AttentionOptions options{
      .query_heads = 1, .key_value_heads = 1, .head_dim = 8, .scale = 1.0, .sliding_window = 2, .causal = false};
  EXPECT_THROW(attention(x, x, x, batch, nullptr, options), c10::Error);
}

/// Out of a convolution, as transformers does it.
at::Tensor plain_patches(const Tensors& in, int64_t patch) {
  const at::Tensor patches = at::conv2d(in[0], in[1], in[2], patch).flatten(2).transpose(1, 2);
  const at::Tensor classes = in[3].expand({in[0].size(0), -1, -1});
  return (at::cat({classes, patches}, 1) + in[4]).flatten(0, 1);
}

TEST(PatchEmbedding, MatchesAConvolution) {
  const int64_t patch = 4;
  const Tensors inputs = {random({3, 3, 8, 20}), random({24, 3, patch, patch}, 2), random({24}, 3),
                          random({1, 1, 24}, 4), random({1, 11, 24}, 5)};
  for (const auto& precision : kPrecisions) {
    expect_matches(
        [&](const Tensors& in) -> Tensors {
          return {embed_patches(in[0], {in[1], in[2], in[3], in[4]}, precision.dtype)};
        },
        [&](const Tensors& in) -> Tensors { return {plain_patches(in, patch)}; }, inputs,
        {false, true, true, true, true}, precision, "embed_patches");
  }
}

TEST(PatchEmbedding, RefusesPixelsOfAnotherSize) {
  const PatchEmbedding parameters{at::ones({8, 3, 4, 4}), at::ones({8}), at::ones({1, 1, 8}), at::ones({1, 5, 8})};
  EXPECT_NO_THROW(embed_patches(at::ones({1, 3, 8, 8}), parameters, at::kFloat));
  EXPECT_THROW(embed_patches(at::ones({1, 3, 8, 12}), parameters, at::kFloat), c10::Error);
  EXPECT_THROW(embed_patches(at::ones({1, 1, 8, 8}), parameters, at::kFloat), c10::Error);
}

/// The weight stays float32; the product sees it rounded, and its gradient comes back in float32.
TEST(MixedLinear, MatchesLibtorch) {
  for (const auto& precision : {kPrecisions[1], kPrecisions[2]}) {
    for (const bool frozen : {false, true}) {
      expect_matches(
          [&](const Tensors& in) -> Tensors {
            at::Tensor weight = in[1].to(at::kFloat);
            at::Tensor bias = in[2].to(at::kFloat);
            const at::Tensor y = engine::linear(in[0], weight, bias);
            EXPECT_EQ(y.scalar_type(), precision.dtype);
            return {y};
          },
          [](const Tensors& in) -> Tensors { return {at::linear(in[0], in[1], in[2])}; },
          {random({33, 40}), random({20, 40}, 2), random({20}, 3)}, {true, !frozen, !frozen}, precision, "mixed");
    }
    at::Tensor weight = random({20, 40}, 2).to(at::kFloat).set_requires_grad(true);
    at::Tensor bias = random({20}, 3).to(at::kFloat).set_requires_grad(true);
    engine::linear(random({33, 40}).to(precision.dtype), weight, bias).sum().backward();
    EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
    EXPECT_EQ(bias.grad().scalar_type(), at::kFloat);
  }
}

/// Central differences of sum(seed * f(x)) against the gradient that backward makes; both in float64.
void expect_slopes(const std::function<at::Tensor(const at::Tensor&)>& f, const at::Tensor& at_point) {
  at::Tensor x = at_point.clone().set_requires_grad(true);
  const at::Tensor y = f(x);
  const at::Tensor seed = random(y.sizes(), 9);
  y.backward(seed);
  const at::NoGradGuard no_grad;
  for (int64_t i = 0; i < x.numel(); ++i) {
    constexpr double kStep = 1e-6;
    const at::Tensor up = at_point.clone();
    const at::Tensor down = at_point.clone();
    up.view(-1)[i] += kStep;
    down.view(-1)[i] -= kStep;
    const double slope = (((f(up) - f(down)) * seed).sum() / (2 * kStep)).item<double>();
    EXPECT_NEAR(x.grad().view(-1)[i].item<double>(), slope, 1e-6);
  }
}

TEST(VisionGradients, OfFloat64MatchFiniteDifferences) {
  const at::Tensor weight = random({6}, 2);
  const at::Tensor bias = random({6}, 3);
  const at::Tensor x = random({2, 6});
  expect_slopes([&](const at::Tensor& in) { return layer_norm(in, weight, bias, 1e-5); }, x);
  expect_slopes([&](const at::Tensor& in) { return layer_norm(x, in, bias, 1e-5); }, weight);
  expect_slopes([&](const at::Tensor& in) { return add_layer_norm(x, in, weight, bias, 1e-5).second; }, random({2, 6}));
  expect_slopes([](const at::Tensor& in) { return engine::gelu(in); }, x);
  expect_slopes([](const at::Tensor& in) { return engine::gelu(in, GeluForm::kTanh); }, x);
  const at::Tensor pixels = random({2, 1, 4, 4});
  const PatchEmbedding parameters{random({3, 1, 2, 2}, 2), random({3}, 3), random({1, 1, 3}, 4), random({1, 5, 3}, 5)};
  expect_slopes(
      [&](const at::Tensor& in) {
        return embed_patches(pixels, {in, parameters.bias_H, parameters.class_token_11H, parameters.positions_1LH},
                             at::kDouble);
      },
      parameters.weight_HCPP);
  const PackedBatch batch = make_batch({3});
  const AttentionOptions options{.query_heads = 1, .key_value_heads = 1, .head_dim = 4, .scale = 0.5, .causal = false};
  expect_slopes([&](const at::Tensor& in) { return attention(in, in, in, batch, nullptr, options); }, random({3, 4}));
}

}  // namespace
}  // namespace assay::engine
