#include "engine/kernels/ops.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace assay::engine {
namespace {

TEST(RmsNorm, MatchesItsFormula) {
  const at::Tensor x = at::randn({5, 24});
  const at::Tensor w = at::randn({24});
  const at::Tensor want = x / at::sqrt(x.square().mean(-1, true) + 1e-5) * w;
  EXPECT_LT((rms_norm(x, w, 1e-5) - want).abs().max().item<float>(), 1e-5);
}

}  // namespace
}  // namespace assay::engine
