// The worker's side of the event stream.
#pragma once

#include <exception>
#include <mutex>

#include "job/event.h"

namespace assay::engine {

/// The reader of the events has gone: nobody wants the rest of the run.
class ControllerGone : public std::exception {
 public:
  const char* what() const noexcept override { return "the controller has closed the event stream"; }
};

/// Writes events to a file descriptor, each as one whole line at once. Safe to use from several threads.
class EventWriter {
 public:
  explicit EventWriter(int fd) : fd_(fd) {}

  /// Throws ControllerGone when the other end is closed (the process must ignore SIGPIPE), StatusError on another
  /// error.
  void write(const job::Event& event);

  /// Writes `event`, behind which nothing follows: what other threads write then is dropped. Where it cannot be
  /// written, standard error says why.
  void write_last(const job::Event& event);

  /// Likewise, and ends the process with `code`. Neither destructors nor exit handlers run.
  [[noreturn]] void write_last_and_exit(const job::Event& event, int code);

 private:
  void write_line(const job::Event& event);

  int fd_;
  std::mutex mutex_;
  bool is_over_ = false;  // guarded by mutex_
};

}  // namespace assay::engine
