// Somebody who is told of every collective as it happens: for traces.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::engine {

/// Times are MonotonicSeconds().
struct CallSpan {
  std::string_view kind;  ///< as in CollectiveStats
  std::string_view label;
  int64_t bytes = 0;  ///< of the full buffer
  double start_seconds = 0;
  double end_seconds = 0;
};

/// Called from the thread that runs collectives and from the one that waits, which may be two.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void on_run(const CallSpan& span) = 0;   ///< the collective itself: busy_seconds
  virtual void on_wait(const CallSpan& span) = 0;  ///< its caller, starting it or waiting: exposed_seconds
};

}  // namespace assay::engine
