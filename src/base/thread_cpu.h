// How long a thread has computed.
#pragma once

#include <ctime>

namespace assay {

/// Processor time of the calling thread, in seconds.
inline double ThreadCpuSeconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace assay
