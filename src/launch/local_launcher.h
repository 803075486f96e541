// Runs the workers of a plan, one a rank, as child processes of this machine, watches them, and says how they ended.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/event.h"
#include "job/plan.h"
#include "job/run_record.h"
#include "measure/sampler.h"

namespace assay::launch {

struct LaunchOptions {
  std::string worker = {};                              ///< path of the worker; empty: FindWorker()
  std::map<std::string, std::string> environment = {};  ///< added to what the launcher sets
  double sample_hz = 10;                                ///< of the resource sampler
  double grace_seconds = 3;                             ///< between SIGTERM and SIGKILL
  /// When a rank fails, the others have so long to find out and to end themselves, before SIGTERM.
  double own_end_seconds = 5;
  /// Asked about every 100 ms from the calling thread; true ends the worker at once, as somebody's kill would.
  std::function<bool()> cancelled = {};
  /// Each event as it comes, from the calling thread.
  std::function<void(const job::Event&)> on_event = {};
  /// About every 100 ms, from the calling thread: what the worker uses now.
  std::function<void(const measure::LiveSample&)> on_tick = {};
};

/// $ASSAY_WORKER, else `assay-worker` beside our own program. An error says what to do when it is not there.
Result<std::string> FindWorker();

/// The GPUs of `gpus` that the ranks of `plan` use, by NVML's number: rank i has the i-th that is visible.
std::vector<int> GpusOf(const job::Plan& plan, const std::vector<measure::GpuInfo>& gpus);

/// Runs the worker on `plan`, one process for each of its ranks, and waits for the end, whatever that is: an error
/// means that they could not be started. Several ranks know themselves by the variables that torchrun sets, and share
/// the CPU threads of the machine. The record has rank 0's events, then those of other ranks that name their rank; the
/// sums of what all ranks used (the largest `max_rss_bytes`); and the end of the rank that failed first, which its
/// reason names: the others are then ended within seconds. Traces that a plan asks for are merged when all is done.
/// Blocks; may be called from several threads at once. On Ctrl-C the worker is stopped and the record says so.
/// Workers end with this process, whatever ends it.
Result<job::RunRecord> RunWorker(const job::Plan& plan, const LaunchOptions& options);

/// The record's end as a Status: ok when done; kOutOfMemory, kInvalidArgument, kAborted, else (it diverged, too)
/// kInternal, a failed run.
Status EndStatus(const job::RunRecord& record);

}  // namespace assay::launch
