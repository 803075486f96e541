#include "measure/standstill.h"

#include <ctime>

namespace assay::measure {
namespace {

// Ten periods of the slowest sampler.
constexpr double kLongestInterval = 2;
// Suspending and waking takes longer.
constexpr double kShortestSuspend = 0.1;

double ClockSeconds(clockid_t clock) {
  timespec time = {};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void Standstill::Add(double interval_s, bool stopped, double waited_s) {
  if (stopped || interval_s - waited_s > kLongestInterval) {
    seconds_ += interval_s;
  }
}

void Standstill::AddSuspended(double seconds) {
  if (seconds > kShortestSuspend) {
    seconds_ += seconds;
  }
}

double SuspendedSeconds() {
  // A thread may lose its processor between two readings.
  constexpr double kAtOnce = 1e-3;
  constexpr int kTries = 20;
  double before = 0;
  double monotonic = 0;
  for (int i = 0; i < kTries; ++i) {
    before = ClockSeconds(CLOCK_BOOTTIME);
    monotonic = ClockSeconds(CLOCK_MONOTONIC);
    if (ClockSeconds(CLOCK_BOOTTIME) - before < kAtOnce) {
      break;
    }
  }
  return before - monotonic;
}

}  // namespace assay::measure
