#include "engine/kernels/gradient_rule.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/kernels/optimizer_step.h"
#include "engine/kernels/test_support.h"
#include "engine/kernels/update_scale.h"

namespace assay::engine {
namespace {

using testing::for_each_isa;
using testing::kPrecisions;
using testing::relative_error;
using testing::Tensors;

TEST(GradientStats, AreTheSameWithAnyNumberOfThreads) {
  for_each_isa([] {
    const Tensors gradients = {at::randn({100003}), at::randn({7}).to(at::kBFloat16), at::randn({33, 5}).to(at::kHalf),
                               at::randn({9}, at::kDouble), at::empty({0})};
    double want = 0.0;
    for (const at::Tensor& g : gradients) {
      want += g.to(at::kDouble).square().sum().item<double>();
    }
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    const at::Tensor one = gradient_stats(gradients);
    at::set_num_threads(2);
    const at::Tensor two = gradient_stats(gradients);
    at::set_num_threads(threads);
    EXPECT_NEAR(gradient_norm(one) / std::sqrt(want), 1.0, 1e-6);
    EXPECT_NEAR(gradient_norm(one, 0.25) / std::sqrt(want), 0.25, 1e-6);
    EXPECT_TRUE(one.equal(two));
    EXPECT_FALSE(has_non_finite(one));
  });
}

TEST(GradientStats, OfNothingAreZero) {
  EXPECT_EQ(gradient_norm(gradient_stats({})), 0.0);
  EXPECT_FALSE(has_non_finite(gradient_stats({at::empty({0})})));
}

TEST(GradientStats, CountWhatIsNotFinite) {
  for_each_isa([] {
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
      const at::Tensor gradient = at::ones({9001}, dtype);
      for (const auto& [at, value] :
           std::vector<std::pair<int64_t, double>>{{0, INFINITY}, {4096, NAN}, {9000, -INFINITY}}) {
        gradient[at] = value;
      }
      EXPECT_EQ(gradient_stats({at::ones({5}, dtype), gradient})[1].item<double>(), 3.0) << at::toString(dtype);
    }
  });
}

TEST(GradientStats, ASumOfSquaresBeyondFloat32IsNotFiniteEither) {
  for_each_isa([] {
    const at::Tensor stats = gradient_stats({at::full({3}, 1e38)});
    EXPECT_EQ(stats[1].item<double>(), 0.0);
    EXPECT_EQ(gradient_norm(stats), INFINITY);
    EXPECT_TRUE(has_non_finite(stats));
  });
}

TEST(ClipFactor, FollowsTorch) {
  EXPECT_DOUBLE_EQ(clip_factor(4.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(clip_factor(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_factor(100.0, 0.0), 1.0);
  EXPECT_EQ(clip_factor(INFINITY, 1.0), 0.0);
  EXPECT_TRUE(std::isnan(clip_factor(NAN, 1.0)));
}

AdamwTensors ones(int64_t count, at::ScalarType dtype) {
  const auto tensor = [&](double value) { return at::full({count}, value, dtype); };
  return {tensor(1.0), tensor(1.0), tensor(0.5), tensor(0.25)};
}

/// An update by adamw and one by sgd.
using Update = std::function<void(const AdamwTensors&, const GradientRule&)>;
const std::vector<Update> kUpdates = {
    [](const AdamwTensors& t, const GradientRule& rule) { adamw_step({t}, {.learning_rate = 0.1, .step = 2}, rule); },
    [](const AdamwTensors& t, const GradientRule& rule) { sgd_step({t}, 0.1, 0.0, rule); }};

TEST(GradientRule, ClipsTheUnscaledNorm) {
  for_each_isa([] {
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
      for (const Update& update : kUpdates) {
        const AdamwTensors clipped = ones(100, dtype);  // unscaled: norm 10 / 4
        const AdamwTensors want = ones(100, dtype);
        update(clipped, {.scale = 0.25, .max_norm = 1.0, .stats = gradient_stats({clipped.gradient})});
        update(want, {.scale = 0.25 * clip_factor(2.5, 1.0)});
        EXPECT_LT(relative_error(clipped.parameter, want.parameter), 1e-6) << at::toString(dtype);
        EXPECT_LT(relative_error(clipped.first_moment, want.first_moment), 1e-6);
      }
    }
  });
}

TEST(GradientRule, AnUpdateThatIsSkippedLeavesEverythingUntouched) {
  for_each_isa([] {
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
      for (const Update& update : kUpdates) {
        // The last one is finite where the sum of its squares is not.
        const bool wide = dtype == at::kFloat || dtype == at::kBFloat16;
        for (const double value : std::vector<double>{INFINITY, -INFINITY, NAN, wide ? 1e38 : NAN}) {
          AdamwTensors t = ones(1000, dtype);
          t.gradient[567] = value;
          t.copy = at::full({1000}, 3.0, at::kHalf);
          update(t, {.max_norm = 1.0, .skip_non_finite = true, .stats = gradient_stats({t.gradient})});
          EXPECT_TRUE(t.parameter.eq(1.0).all().item<bool>());
          EXPECT_TRUE(t.first_moment.eq(0.5).all().item<bool>());
          EXPECT_TRUE(t.second_moment.eq(0.25).all().item<bool>());
          EXPECT_TRUE(t.copy.eq(3.0).all().item<bool>());
        }
      }
    }
  });
}

TEST(GradientRule, WithoutSkippingWhatIsNotFiniteSpreads) {
  for_each_isa([] {
    for (const Update& update : kUpdates) {
      const AdamwTensors t = ones(10, at::kFloat);
      t.gradient[5] = NAN;
      update(t, {.stats = gradient_stats({t.gradient})});
      EXPECT_TRUE(t.parameter[5].isnan().item<bool>());
      EXPECT_FALSE(t.parameter[4].isnan().item<bool>());
    }
  });
}

}  // namespace
}  // namespace assay::engine
