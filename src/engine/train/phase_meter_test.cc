#include "engine/train/phase_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace assay::engine {
namespace {

/// Marks are a second apart.
class SecondsClock : public DeviceClock {
 public:
  explicit SecondsClock(int& waits) : waits_(waits) {}

  size_t mark() override { return marks_++; }
  std::vector<double> settle() override {
    ++waits_;
    std::vector<double> seconds;
    for (size_t mark = 0; mark < marks_; ++mark) {
      seconds.push_back(static_cast<double>(mark));
    }
    marks_ = 0;
    return seconds;
  }

 private:
  int& waits_;
  size_t marks_ = 0;
};

TEST(PhaseMeter, TakesTimesFromTheDeviceAndWaitsOnceForAllOfThem) {
  int waits = 0;
  PhaseMeter meter(c10::kCPU, std::make_unique<SecondsClock>(waits));
  PhaseUse forward;
  PhaseUse backward;
  for (int step = 1; step <= 2; ++step) {
    for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
      meter.measure_ahead("forward", forward, [&] { meter.measure_ahead("backward", backward, [] {}); });
    }
    EXPECT_EQ(waits, step - 1);
    meter.settle();
    EXPECT_EQ(waits, step);
    EXPECT_EQ(forward.seconds, step * 3 * 3.0);
    EXPECT_EQ(backward.seconds, step * 3 * 1.0);
  }
  meter.settle();
  EXPECT_EQ(waits, 2) << "nothing was measured since";
}

TEST(PhaseMeter, ADeviceWithoutAClockHasDoneItsWorkWhenAPhaseEnds) {
  PhaseMeter meter(c10::kCPU);
  PhaseUse forward;
  meter.measure_ahead("forward", forward, [] {});
  EXPECT_GT(forward.seconds, 0);
  EXPECT_EQ(meter.where(), "forward");
}

}  // namespace
}  // namespace assay::engine
