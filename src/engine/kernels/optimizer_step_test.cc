#include "engine/kernels/optimizer_step.h"

#include <ATen/Parallel.h>

#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::for_each_isa;
using testing::kPrecisions;
using testing::relative_error;

/// torch.optim.AdamW's update written out in float64, over the tensors' own dtypes.
void plain_adamw(AdamwTensors& t, const AdamwScalars& s) {
  const at::Tensor g = t.gradient.to(at::kDouble) * s.gradient_scale;
  at::Tensor p = t.parameter.to(at::kDouble) * (t.decay ? 1.0 - s.learning_rate * s.weight_decay : 1.0);
  const at::Tensor m = t.first_moment.to(at::kDouble) * s.beta1 + g * (1.0 - s.beta1);
  const at::Tensor v = t.second_moment.to(at::kDouble) * s.beta2 + g * g * (1.0 - s.beta2);
  const double step = static_cast<double>(s.step);
  const at::Tensor m_hat = m / (1.0 - std::pow(s.beta1, step));
  const at::Tensor v_hat = v / (1.0 - std::pow(s.beta2, step));
  p = p - s.learning_rate * m_hat / (v_hat.sqrt() + s.eps);
  t.parameter.copy_(p);
  t.first_moment.copy_(m);
  t.second_moment.copy_(v);
}

AdamwTensors make_tensors(int64_t count, at::ScalarType dtype, at::ScalarType state) {
  at::manual_seed(static_cast<uint64_t>(count));
  return {at::randn({count}).to(dtype), at::randn({count}).to(dtype), at::zeros({count}, state),
          at::zeros({count}, state)};
}

AdamwTensors copy_of(const AdamwTensors& t) {
  return {t.parameter.clone(), t.gradient.clone(), t.first_moment.clone(), t.second_moment.clone(), t.decay};
}

TEST(Adamw, FollowsItsFormulaOverSteps) {
  for_each_isa([] {
    for (const auto& precision : kPrecisions) {
      for (const bool wide_states : {false, true}) {
        for (const int64_t count : {1, 31, 5000}) {
          AdamwTensors ours = make_tensors(count, precision.dtype, wide_states ? at::kFloat : precision.dtype);
          ours.decay = count != 31;
          AdamwTensors want = copy_of(ours);
          for (int64_t step = 1; step <= 3; ++step) {
            const AdamwScalars scalars{.learning_rate = 0.01, .weight_decay = 0.1, .step = step, .gradient_scale = 0.7};
            adamw_step({ours}, scalars);
            plain_adamw(want, scalars);
          }
          EXPECT_LT(relative_error(ours.parameter, want.parameter), precision.tolerance);
          EXPECT_LT(relative_error(ours.first_moment, want.first_moment), precision.tolerance);
          EXPECT_LT(relative_error(ours.second_moment, want.second_moment), precision.tolerance);
        }
      }
    }
  });
}

TEST(Adamw, ManyTensorsEqualEachAlone) {
  std::vector<AdamwTensors> together;
  std::vector<AdamwTensors> alone;
  for (const int64_t count : {3, 70000, 1, 1024, 200001}) {
    together.push_back(make_tensors(count, at::kFloat, at::kFloat));
    alone.push_back(copy_of(together.back()));
  }
  const AdamwScalars scalars{.learning_rate = 0.1, .weight_decay = 0.01};
  adamw_step(together, scalars);
  for (size_t i = 0; i < alone.size(); ++i) {
    adamw_step({alone[i]}, scalars);
    EXPECT_TRUE(together[i].parameter.equal(alone[i].parameter));
  }
}

TEST(Sgd, FollowsItsFormula) {
  for_each_isa([] {
    for (const auto& precision : kPrecisions) {
      const AdamwTensors t = make_tensors(777, precision.dtype, precision.dtype);
      const at::Tensor p = t.parameter.to(at::kDouble);
      const at::Tensor want = p - 0.1 * (0.5 * t.gradient.to(at::kDouble) + 0.2 * p);
      sgd_step({t}, 0.1, 0.2, 0.5);
      EXPECT_LT(relative_error(t.parameter, want), precision.tolerance);
    }
  });
}

TEST(GradientNorm, IsTheEuclideanNormWithAnyNumberOfThreads) {
  for_each_isa([] {
    const std::vector<at::Tensor> gradients = {at::randn({100003}), at::randn({7}).to(at::kBFloat16),
                                               at::randn({33, 5}).to(at::kHalf), at::empty({0})};
    double want = 0.0;
    for (const at::Tensor& g : gradients) {
      want += g.to(at::kDouble).square().sum().item<double>();
    }
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    const double one = gradient_norm(gradients);
    at::set_num_threads(2);
    const double two = gradient_norm(gradients);
    at::set_num_threads(threads);
    EXPECT_NEAR(one / std::sqrt(want), 1.0, 1e-6);
    EXPECT_EQ(one, two);
  });
}

TEST(GradientNorm, OfNothingIsZero) {
  EXPECT_EQ(gradient_norm({}), 0.0);
}

}  // namespace
}  // namespace assay::engine
