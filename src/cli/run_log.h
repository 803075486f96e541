// `--log-dir`: what a training says of its steps, written while it runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "cli/append_file.h"
#include "cli/scalar_events.h"
#include "job/event.h"

namespace assay::cli {

/// A line of JSON for each step and each evaluation in log.jsonl, behind what it holds, and the same as curves for
/// TensorBoard in a file of its own. Not safe to use from two threads.
class RunLog {
 public:
  /// Makes the folder.
  static Result<RunLog> Open(const std::string& folder);

  void OnEvent(const job::Event& event);
  /// The first failure to write; nothing was written after it.
  const Status& status() const { return status_; }

 private:
  RunLog(AppendFile lines, ScalarEvents curves) : lines_(std::move(lines)), curves_(std::move(curves)) {}
  Status Write(const job::Event& event);
  Status Add(int64_t step, std::span<const Scalar> scalars);

  AppendFile lines_;
  ScalarEvents curves_;
  Status status_;
};

}  // namespace assay::cli
