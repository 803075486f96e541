#include "measure/standstill.h"

#include <charconv>
#include <ctime>

#include "measure/proc_file.h"

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

double WaitSeconds(std::string_view schedstat) {
  double nanoseconds = 0;
  const size_t second = schedstat.find(' ');
  if (second != std::string_view::npos) {
    std::from_chars(schedstat.data() + second + 1, schedstat.data() + schedstat.size(), nanoseconds);
  }
  return 1e-9 * nanoseconds;
}

double ThreadWaitSeconds() {
  return WaitSeconds(ProcFile("/proc/thread-self/schedstat").Read());
}

}  // namespace assay::measure
