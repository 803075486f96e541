// One live line that follows a worker: step, loss, tokens a second, memory, time left.
#pragma once

#include <cstdint>
#include <string>

#include "base/terminal.h"
#include "explore/run_pace.h"
#include "job/event.h"

namespace assay::cli {

/// Fed with a worker's events; writes to standard error, so that standard output holds the result alone.
class LiveProgress {
 public:
  /// `stop_after_seconds` beyond 0 bounds the time left.
  explicit LiveProgress(double stop_after_seconds = -1);

  /// Put before every line, for example "[3/8] ".
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }
  /// A new run begins.
  void Restart(double stop_after_seconds);
  void OnPhase(std::string_view phase);
  void OnEvent(const job::Event& event);
  /// A line that stays.
  void Print(std::string_view text);

 private:
  void OnStep(const job::Step& step);
  static std::string Rate(const job::Step& step);

  StatusLine line_;
  std::string prefix_;
  explore::RunPace pace_;
  double last_plain_line_ = -1;
};

}  // namespace assay::cli
