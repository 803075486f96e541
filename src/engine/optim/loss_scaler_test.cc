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

TEST(LossScaler, IsExhaustedByAnOverflowAtItsLowestScale) {
  LossScaler torch({.initial = 0x1p-15});
  for (const bool exhausted : {false, true, true}) {
    torch.update(true);
    EXPECT_EQ(torch.exhausted(), exhausted);
  }
  torch.update(false);
  EXPECT_FALSE(torch.exhausted());
  LossScaler colossal({.initial = 2, .hysteresis = 2, .minimum = 1});
  for (const bool exhausted : {false, false, true}) {
    colossal.update(true);
    EXPECT_EQ(colossal.exhausted(), exhausted);
  }
  LossScaler fixed({.initial = 1, .growth = 1, .backoff = 1});
  fixed.update(true);
  EXPECT_FALSE(fixed.exhausted()) << "another batch may fit";
}

}  // namespace
}  // namespace assay::engine
