// Products of sorted rows against plain libtorch in float64.
#include "engine/kernels/grouped_linear.h"

#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::expect_matches;
using testing::kPrecisions;
using testing::random;
using testing::Tensors;

constexpr int64_t kExperts = 4;
const std::vector<int64_t> kOffsets = {0, 3, 3, 17, 20};  // the second expert has no rows

/// The rows of each expert by its own product.
Tensors plain(const at::Tensor& x_SI, const std::vector<at::Tensor>& weights) {
  std::vector<at::Tensor> parts;
  for (size_t e = 0; e < weights.size(); ++e) {
    parts.push_back(at::linear(x_SI.slice(0, kOffsets[e], kOffsets[e + 1]), weights[e]));
  }
  return {at::cat(parts)};
}

TEST(GroupedLinear, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    const Tensors stacked = {random({kOffsets.back(), 24}), random({kExperts, 16, 24}, 2)};
    Tensors apart = {stacked[0]};
    for (int64_t e = 0; e < kExperts; ++e) {
      apart.push_back(stacked[1].select(0, e).clone());
    }
    for (const bool of_input : {true, false}) {
      expect_matches([](const Tensors& in) -> Tensors { return {grouped_linear(in[0], {in[1]}, kOffsets)}; },
                     [](const Tensors& in) -> Tensors { return plain(in[0], in[1].unbind(0)); }, stacked,
                     {of_input, true}, precision, "one tensor of weights");
      expect_matches(
          [](const Tensors& in) -> Tensors { return {grouped_linear(in[0], {in.begin() + 1, in.end()}, kOffsets)}; },
          [](const Tensors& in) -> Tensors { return plain(in[0], {in.begin() + 1, in.end()}); }, apart,
          {of_input, true, true, true, true}, precision, "a weight for each expert");
    }
  }
}

TEST(GroupedLinear, RefusesOffsetsOfOtherRows) {
  const at::Tensor x_SI = at::zeros({5, 3});
  EXPECT_THROW(grouped_linear(x_SI, {at::zeros({2, 4, 3})}, {0, 2, 4}), c10::Error);
  EXPECT_THROW(grouped_linear(x_SI, {at::zeros({2, 4, 3})}, {0, 5}), c10::Error);
}

}  // namespace
}  // namespace assay::engine
