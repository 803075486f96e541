// One rank of a run as a child process: its events, its last words and its end.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/subprocess.h"
#include "job/run_record.h"

namespace assay::launch {

/// The last lines that a worker wrote for people.
class Tail {
 public:
  void Add(std::string_view line);
  std::string Text() const;

 private:
  std::deque<std::string> lines_;
};

/// Start, Wait and the readers belong to one thread; Kill may be called from any once Start has returned.
class RankProcess {
 public:
  struct Callbacks {
    std::function<void(const job::Event&)> on_event = {};  ///< as each comes, from Wait's thread
    std::function<void()> on_tick = {};
  };

  /// Starts `child`, whose output goes into this object. Times of events count from `clock_start` (MonotonicSeconds).
  Status Start(SubprocessOptions child, Callbacks callbacks, double clock_start);
  /// Blocks until the process has been reaped; on Ctrl-C it is ended.
  Status Wait(double grace_seconds);
  void Kill(int signal) { process_->Kill(signal); }

  pid_t pid() const { return process_->pid(); }
  /// Events, use of resources and stderr so far; the end is not classified.
  job::RunRecord& record() { return record_; }
  const ProcessEnd& end() const { return end_; }
  /// Whether it carried out its plan.
  bool succeeded() const { return end_.exited && end_.exit_code == 0; }
  /// When it said that it had ended, or else was reaped.
  double end_time() const { return end_time_; }

 private:
  void TakeLine(std::string_view line);

  Callbacks callbacks_;
  double clock_start_ = 0;
  double end_time_ = 0;
  Tail tail_;
  job::RunRecord record_;
  ProcessEnd end_;
  std::optional<Subprocess> process_;
};

}  // namespace assay::launch
