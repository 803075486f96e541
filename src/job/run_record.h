// What the controller knows about one run of a worker after it ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "job/event.h"

namespace assay::job {

/// How a worker's run ended, as the controller classifies it.
enum class RunEnd {
  kDone,         ///< `ended` with kind done, and exit code 0
  kOutOfMemory,  ///< the worker said so, or the kernel's out-of-memory killer took it for what it used itself
  kInvalid,      ///< the worker refused its plan or one of its files
  kDiverged,     ///< the worker stopped because a loss or its gradients were not finite
  kError,        ///< the worker reported an exception
  kKilled,       ///< a signal ended it
  kVanished,     ///< it exited without saying why
  kInterrupted,  ///< the user pressed Ctrl-C; we stopped it
  kLost,         ///< the machine where it ran, or the way to it, was lost: it may run elsewhere
};

inline std::string_view ToString(RunEnd end) {
  constexpr std::string_view kNames[] = {"done",   "out of memory", "invalid",     "diverged", "error",
                                         "killed", "vanished",      "interrupted", "lost"};
  return kNames[static_cast<int>(end)];
}

/// Plain data. Events stand in the order in which they came, whatever the end.
struct RunRecord {
  std::vector<Event> events;
  std::vector<double> event_seconds;  ///< when each event came, on the same clock as samples' "time_s"
  RunEnd end = RunEnd::kVanished;
  std::string reason;  ///< one line; empty when done
  int signal = 0;      ///< of kKilled and of an out-of-memory kill
  std::string stderr_tail;
  /// Sampled series by name, all as long as "time_s" (seconds since the worker was started): see
  /// measure/sample_series.h.
  std::map<std::string, std::vector<double>> samples;
  int64_t max_rss_bytes = 0;    ///< high-water mark of the worker's resident memory, by the kernel
  double cpu_seconds = 0;       ///< user and system time of the worker
  double wall_seconds = 0;      ///< from before the worker was started until it was reaped
  double overhead_seconds = 0;  ///< wall time that was neither load nor training
  /// Time in which the worker or its controller was stopped or frozen, or the machine suspended; 0: none was seen.
  double stood_still_seconds = 0;
  /// What rank 0's machine says of itself where that may not be the controller's: host, cpu, memory, ...
  std::map<std::string, std::string> machine;
  double cpu_wait_seconds = 0;  ///< that a rank's main thread was ready to run, but had no processor: the longest
};

/// The first event of type T, or nullptr.
template <typename T>
const T* FindEvent(const RunRecord& record) {
  for (const Event& event : record.events) {
    if (const T* found = std::get_if<T>(&event)) {
      return found;
    }
  }
  return nullptr;
}

/// All events of type T, in order.
template <typename T>
std::vector<T> EventsOf(const RunRecord& record) {
  std::vector<T> events;
  for (const Event& event : record.events) {
    if (const T* found = std::get_if<T>(&event)) {
      events.push_back(*found);
    }
  }
  return events;
}

/// The most that a rank was foretold to hold; 0 where nothing was.
inline int64_t PredictedPeakBytes(const RunRecord& record) {
  int64_t peak = 0;
  for (const MemoryLedger& ledger : EventsOf<MemoryLedger>(record)) {
    peak = std::max(peak, ledger.source == "predicted" ? ledger.peak_bytes : 0);
  }
  return peak;
}

/// All steps, in order.
inline std::vector<Step> Steps(const RunRecord& record) {
  return EventsOf<Step>(record);
}

}  // namespace assay::job
