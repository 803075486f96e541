#include "engine/kernels/state_space.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "engine/kernels/shape_memory.h"

namespace assay::engine {
namespace {

const std::vector<int64_t> kRows = {0, 150, 151, 200};  // of several chunks, of one token, of less than a chunk

at::Tensor numbers(at::IntArrayRef sizes, double scale, double phase) {
  const int64_t count = c10::multiply_integers(sizes);
  return ((at::arange(count, at::kDouble) * 1.37 + phase).sin() * scale).to(at::kFloat).view(sizes).requires_grad_();
}

/// Gradients of the sum of y times fixed numbers.
std::vector<at::Tensor> gradients_of(const at::Tensor& y, const std::vector<at::Tensor>& inputs) {
  return torch::autograd::grad({(y * numbers(y.sizes(), 1, 0.3).detach()).sum()}, inputs);
}

void expect_alike(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& want, double tolerance) {
  for (size_t i = 0; i < want.size(); ++i) {
    const double scale = want[i].abs().max().item<double>();
    EXPECT_LE((got[i] - want[i]).abs().max().item<double>(), tolerance * scale) << "tensor " << i;
  }
}

/// Token by token, by the definition.
at::Tensor scanned(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const StateSpaceParameters& p,
                   const StateSpace& s) {
  const int64_t inner = s.heads * s.head_dim;
  std::vector<at::Tensor> tokens;
  at::Tensor state_NPS;
  for (int64_t t = 0; t < xbc_TC.size(0); ++t) {
    if (std::ranges::find(kRows, t) != kRows.end()) {
      state_NPS = at::zeros({s.heads, s.head_dim, s.state});
    }
    const auto parts = xbc_TC[t].split_with_sizes({inner, s.groups * s.state, s.groups * s.state}, 0);
    const at::Tensor x_NP = parts[0].view({s.heads, s.head_dim});
    const auto of_heads = [&](const at::Tensor& part) {
      return part.view({s.groups, s.state}).repeat_interleave(s.heads / s.groups, 0);
    };
    const at::Tensor step_N = at::softplus(step_TN[t] + p.step_bias_N).clamp(s.shortest_step, s.longest_step);
    const at::Tensor left_N = (-p.decay_log_N.exp() * step_N).exp();
    const at::Tensor taken_NPS = (step_N.unsqueeze(-1) * x_NP).unsqueeze(-1) * of_heads(parts[1]).unsqueeze(1);
    state_NPS = state_NPS * left_N.view({-1, 1, 1}) + taken_NPS;
    const at::Tensor y_NP = at::matmul(state_NPS, of_heads(parts[2]).unsqueeze(-1)).squeeze(-1);
    tokens.push_back((y_NP + p.skip_N.unsqueeze(-1) * x_NP).flatten());
  }
  return at::stack(tokens);
}

TEST(SelectiveScan, InChunksIsThatTokenByTokenWithItsGradients) {
  for (const int64_t groups : {1, 2}) {
    const StateSpace space{
        .heads = 4, .head_dim = 3, .groups = groups, .state = 5, .shortest_step = 0.3, .longest_step = 1.4};
    const std::vector<at::Tensor> inputs = {numbers({200, 12 + 2 * groups * 5}, 1, 0), numbers({200, 4}, 1.5, 1),
                                            numbers({4}, 0.5, 2), numbers({4}, 1, 3), numbers({4}, 1, 4)};
    const StateSpaceParameters parameters{inputs[2], inputs[3], inputs[4]};
    const at::Tensor want = scanned(inputs[0], inputs[1], parameters, space);
    const at::Tensor got = selective_scan(inputs[0], inputs[1], parameters, space, kRows);
    expect_alike({got}, {want}, 1e-5);
    // Of what decays, terms that cancel are added up over all tokens.
    expect_alike(gradients_of(got, inputs), gradients_of(want, inputs), 3e-4);
  }
}

TEST(SelectiveScan, HasTheDtypeOfItsInput) {
  const StateSpace space{.heads = 2, .head_dim = 4, .groups = 1, .state = 3};
  const std::vector<at::Tensor> inputs = {numbers({200, 14}, 1, 0), numbers({200, 2}, 1, 1), numbers({2}, 0.5, 2),
                                          numbers({2}, 1, 3), numbers({2}, 1, 4)};
  std::vector<at::Tensor> rounded;
  for (const at::Tensor& input : inputs) {
    rounded.push_back(input.detach().to(at::kBFloat16).requires_grad_());
  }
  const at::Tensor got = selective_scan(rounded[0], rounded[1], {rounded[2], rounded[3], rounded[4]}, space, kRows);
  const at::Tensor want = selective_scan(inputs[0], inputs[1], {inputs[2], inputs[3], inputs[4]}, space, kRows);
  EXPECT_EQ(got.scalar_type(), at::kBFloat16);
  expect_alike({got.to(at::kFloat)}, {want}, 3e-2);
  for (const at::Tensor& gradient : gradients_of(got, rounded)) {
    EXPECT_EQ(gradient.scalar_type(), at::kBFloat16);
  }
}

/// What the scan of the rows takes of shapes, with its gradients.
int64_t bytes_of_shapes(const std::vector<int64_t>& rows) {
  const ShapeMemory memory;
  const auto shape = [](at::IntArrayRef sizes) {
    return at::empty(sizes, at::TensorOptions(at::kFloat).device(at::kMeta)).requires_grad_();
  };
  const StateSpace space{.heads = 4, .head_dim = 3, .groups = 2, .state = 5, .shortest_step = 0.1, .longest_step = 1};
  const at::Tensor x_TC = shape({400, 32});
  const at::Tensor conv_TC = causal_conv_silu(x_TC, shape({32, 4}), shape({32}), rows);
  const at::Tensor y_TX = selective_scan(conv_TC, shape({400, 4}), {shape({4}), shape({4}), shape({4})}, space, rows);
  EXPECT_EQ(y_TX.sizes(), (at::IntArrayRef{400, 12}));
  const std::vector<at::Tensor> gradients = torch::autograd::grad({y_TX.sum()}, {x_TC});
  EXPECT_EQ(gradients[0].sizes(), x_TC.sizes());
  return memory.peak_bytes();
}

TEST(SelectiveScan, OfShapesTakesWhatItsLongestRowDoes) {
  const int64_t of_300 = bytes_of_shapes({0, 300, 400});
  EXPECT_EQ(bytes_of_shapes({0, 10, 310, 400}), of_300);
  EXPECT_EQ(bytes_of_shapes({0, 100, 400}), of_300);
  // A chunk takes as much in all of them, the states between chunks do not.
  const int64_t state_bytes = int64_t{4} * 3 * 5 * static_cast<int64_t>(sizeof(float));
  EXPECT_EQ(bytes_of_shapes({0, 400}) - of_300, 2 * state_bytes);
  EXPECT_EQ(of_300 - bytes_of_shapes({0, 100, 200, 300, 400}), 3 * state_bytes);
}

TEST(CausalConvSilu, IsThatOfEachRowAloneWithItsGradients) {
  for (const bool has_bias : {true, false}) {
    std::vector<at::Tensor> inputs = {numbers({200, 6}, 1, 0), numbers({6, 4}, 1, 1)};
    if (has_bias) {
      inputs.push_back(numbers({6}, 1, 2));
    }
    const at::Tensor bias = has_bias ? inputs[2] : at::Tensor();
    std::vector<at::Tensor> rows;
    for (size_t row = 0; row + 1 < kRows.size(); ++row) {
      const int64_t length = kRows[row + 1] - kRows[row];
      const at::Tensor x_1CL = inputs[0].narrow(0, kRows[row], length).t().unsqueeze(0);
      const at::Tensor y_1CL = at::conv1d(x_1CL, inputs[1].unsqueeze(1), bias, 1, 3, 1, 6).narrow(2, 0, length);
      rows.push_back(at::silu(y_1CL).squeeze(0).t());
    }
    const at::Tensor want = at::cat(rows);
    const at::Tensor got = causal_conv_silu(inputs[0], inputs[1], bias, kRows);
    expect_alike({got}, {want}, 1e-6);
    expect_alike(gradients_of(got, inputs), gradients_of(want, inputs), 1e-5);
  }
}

}  // namespace
}  // namespace assay::engine
