// One rank of a run as a child process: its events, its last words and its end.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/subprocess.h"
#include "launch/node_report.h"

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
  /// Whether it carried out its plan; after Wait.
  bool succeeded() const { return report_.succeeded(); }
  /// Events, use of resources, stderr and end; after Wait, once.
  RankReport TakeReport() { return std::move(report_); }

 private:
  void TakeLine(std::string_view line);

  Callbacks callbacks_;
  double clock_start_ = 0;
  Tail tail_;
  RankReport report_;
  std::optional<Subprocess> process_;
};

}  // namespace assay::launch
