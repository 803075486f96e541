#include "engine/optim/loss_scaler.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace assay::engine {
namespace {

/// torch.amp.GradScaler's own update, by the operation that it calls.
class TorchScaler {
 public:
  explicit TorchScaler(const LossScaleOptions& options)
      : options_(options), scale_(at::full({1}, options.initial, at::kFloat)) {}

  void update(bool overflow) {
    const at::Tensor found_inf = at::full({1}, overflow ? 1.0 : 0.0, at::kFloat);
    at::_amp_update_scale_(scale_, growth_tracker_, found_inf, options_.growth, options_.backoff,
                           options_.growth_interval);
  }
  double scale() const { return scale_.item<double>(); }

 private:
  LossScaleOptions options_;
  at::Tensor scale_;
  at::Tensor growth_tracker_ = at::zeros({1}, at::kInt);
};

TEST(LossScaler, GoesThroughTheScalesOfTorch) {
  const LossScaleOptions options{.growth_interval = 3};
  LossScaler ours(options);
  TorchScaler theirs(options);
  at::manual_seed(5);
  const at::Tensor overflows = at::rand({500}).lt(0.3);
  for (int64_t step = 0; step < overflows.size(0); ++step) {
    const bool overflow = overflows[step].item<bool>();
    ours.update(overflow);
    theirs.update(overflow);
    ASSERT_EQ(ours.scale(), theirs.scale()) << "step " << step;
  }
}

TEST(LossScaler, NeverGrowsBeyondFloat32) {
  const LossScaleOptions options{.growth_interval = 1};
  LossScaler ours(options);
  TorchScaler theirs(options);
  for (int step = 0; step < 200; ++step) {
    ours.update(false);
    theirs.update(false);
  }
  EXPECT_EQ(ours.scale(), 0x1p127);
  EXPECT_EQ(ours.scale(), theirs.scale());
}

TEST(LossScaler, DefaultsAreThoseOfTorch) {
  LossScaler scaler({});
  EXPECT_EQ(scaler.scale(), 65536.0);
  for (int step = 0; step < 2000; ++step) {
    EXPECT_EQ(scaler.scale(), 65536.0);
    scaler.update(false);
  }
  EXPECT_EQ(scaler.scale(), 131072.0);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 65536.0);
}

/// Overflows in a row, up to 40, until the scale is exhausted; 0: never.
int row_that_exhausts(LossScaler& scaler) {
  for (int row = 1; row <= 40; ++row) {
    scaler.update(true);
    if (scaler.exhausted()) {
      return row;
    }
  }
  return 0;
}

TEST(LossScaler, IsExhaustedByARowOfOverflowsThatReachesItsLowestScale) {
  LossScaler torch({.initial = 65536});
  EXPECT_EQ(row_that_exhausts(torch), 33) << "32 lead from 2^16 to 2^-16";
  torch.update(false);
  EXPECT_FALSE(torch.exhausted());
  LossScaler colossal({.initial = 32, .hysteresis = 2, .minimum = 1});
  EXPECT_EQ(row_that_exhausts(colossal), 10);
  LossScaler at_the_floor({.initial = 1, .hysteresis = 2, .minimum = 1});
  EXPECT_EQ(row_that_exhausts(at_the_floor), 10);
  LossScaler fixed({.initial = 1, .growth = 1, .backoff = 1});
  EXPECT_EQ(row_that_exhausts(fixed), 0) << "another batch may fit";
}

TEST(LossScaler, SingleOverflowsAtTheLowestScaleExhaustNothing) {
  LossScaler scaler({.initial = 1, .growth_interval = 1000, .hysteresis = 2, .minimum = 1});
  for (int overflow = 0; overflow < 20; ++overflow) {
    scaler.update(true);
    EXPECT_FALSE(scaler.exhausted()) << overflow;
    for (int step = 0; step < 50; ++step) {
      scaler.update(false);
    }
  }
  EXPECT_EQ(scaler.scale(), 1);
}

}  // namespace
}  // namespace assay::engine
