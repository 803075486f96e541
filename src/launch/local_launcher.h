// Runs one worker as a child process of this machine, watches it, and says how it ended.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/status.h"
#include "job/event.h"
#include "job/run_record.h"
#include "job/plan.h"
#include "measure/sampler.h"

namespace assay::launch {

struct LaunchOptions {
  std::string worker = {};                              ///< path of the worker; empty: FindWorker()
  std::map<std::string, std::string> environment = {};  ///< added to what the launcher sets
  double sample_hz = 10;                                ///< of the resource sampler
  double grace_seconds = 3;                             ///< between SIGTERM and SIGKILL on Ctrl-C
  /// Each event as it comes, from the calling thread.
  std::function<void(const job::Event&)> on_event = {};
  /// About every 100 ms, from the calling thread: what the worker uses now.
  std::function<void(const measure::LiveSample&)> on_tick = {};
};

/// $ASSAY_WORKER, else `assay-worker` beside our own program. An error says what to do when it is not there.
Result<std::string> FindWorker();

/// Runs the worker on `plan` and waits for its end, whatever that is: an error means that it could not be started.
/// Blocks; may be called from several threads at once. On Ctrl-C the worker is stopped and the record says so.
Result<job::RunRecord> RunWorker(const job::Plan& plan, const LaunchOptions& options);

/// The record's end as a Status: ok when done; kOutOfMemory, kInvalidArgument, kAborted, else kInternal.
Status EndStatus(const job::RunRecord& record);

}  // namespace assay::launch
