// Whether what is sampled stood still: told from the sampler's own clock and the scheduler's word.
#pragma once

#include <string_view>

namespace assay::measure {

/// Plain data, fed with samples in their order.
class Standstill {
 public:
  /// A sample `interval_s` after the last. `stopped`: a watched process is stopped (SIGSTOP, Ctrl-Z, a debugger). An
  /// interval so long that the sampler itself cannot have run counts too, unless it was ready all the while and
  /// `waited_s` of it for a processor: then the machine was busy.
  void Add(double interval_s, bool stopped, double waited_s = 0);
  /// The machine slept for so long.
  void AddSuspended(double seconds);

  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

/// Seconds that this machine was suspended since it booted.
double SuspendedSeconds();

/// Seconds ready without a processor, of the text of /proc/PID/schedstat: nanoseconds on a processor, nanoseconds ready
/// without one, and times that it got one.
double WaitSeconds(std::string_view schedstat);
/// Those of the calling thread since it began.
double ThreadWaitSeconds();

}  // namespace assay::measure
