// SIGTERM and SIGINT: the worker ends at once, but never in the middle of a file or of an event.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "engine/train/event_writer.h"

namespace assay::engine {

/// Waits for SIGTERM and SIGINT on a thread of its own; on either it writes an `ended` event and ends the process with
/// the exit code of an interrupted program, however long the present tensor operation would still take.
class TerminationWatcher {
 public:
  /// Call before any other thread is started: threads inherit the signal mask. `events` must live until the process
  /// ends.
  explicit TerminationWatcher(EventWriter& events);

  /// While the lock is held, termination waits: for writing files.
  [[nodiscard]] std::unique_lock<std::mutex> defer() { return std::unique_lock(deferring_); }

  /// What is done when a signal ends the process, behind the `ended` event and beside whatever the others still do: it
  /// must not throw, and must be short, since who asked for the end does not wait long. Empty: nothing. Returns when
  /// none is being done.
  void set_last_work(std::function<void()> work) {
    const auto lock = defer();
    last_work_ = std::move(work);
  }

 private:
  void wait_for_signal();

  EventWriter& events_;
  std::mutex deferring_;
  std::function<void()> last_work_;  // guarded by deferring_
};

}  // namespace assay::engine
