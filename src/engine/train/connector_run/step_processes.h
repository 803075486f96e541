// Steps of a connector test in processes of their own, one after the other.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "base/subprocess.h"
#include "engine/train/event_writer.h"
#include "job/connector_plan.h"
#include "job/event.h"

namespace assay::engine {

/// The process of a step was killed.
class KilledStep : public std::exception {
 public:
  KilledStep(const std::string& step, const ProcessEnd& end)
      : text_("the process of step " + step + " was " + end.Describe()), signal_(end.signal) {}
  const char* what() const noexcept override { return text_.c_str(); }
  int signal() const { return signal_; }

 private:
  std::string text_;
  int signal_;
};

class StepProcesses {
 public:
  explicit StepProcesses(EventWriter& events) : events_(events) {}

  /// Makes `plan.step` and passes on what is told of it, but for how it ended, which is returned. Throws KilledStep or
  /// StatusError where it ended without a word, and ControllerGone.
  job::Ended make(job::ConnectorPlan plan);

  /// From another thread: ends the process of the step, which finishes a checkpoint under way where that takes no
  /// longer than a moment, and waits until it is gone, or else kills it. None is started any more.
  void end();

 private:
  void start(SubprocessOptions options);
  ProcessEnd wait();

  EventWriter& events_;
  std::mutex mutex_;
  std::condition_variable is_gone_;
  std::optional<Subprocess> process_;  // guarded by mutex_
  bool is_over_ = false;               // guarded by mutex_
};

}  // namespace assay::engine
