// The one interface of all that carries out plans, wherever their ranks run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/event.h"
#include "job/plan.h"
#include "job/run_record.h"
#include "measure/sampler.h"

namespace assay::launch {

struct LaunchOptions {
  std::string worker = {};                              ///< path of the worker where ranks run; empty: FindWorker()
  std::map<std::string, std::string> environment = {};  ///< added to what the launcher sets
  double sample_hz = 10;                                ///< of the resource sampler
  double grace_seconds = 3;                             ///< between SIGTERM and SIGKILL
  /// When a rank fails, the others have so long to find out and to end themselves, before SIGTERM.
  double own_end_seconds = 5;
  /// Asked about every 100 ms from the thread that follows; true ends the ranks at once, as somebody's kill would.
  std::function<bool()> cancelled = {};
  /// Each event of rank 0 as it comes, from the thread that follows.
  std::function<void(const job::Event&)> on_event = {};
  /// About every 100 ms, from the thread that follows: what the ranks use now.
  std::function<void(const measure::LiveSample&)> on_tick = {};
};

/// A plan under way. Its functions but Cancel belong to one thread. Its end takes all ranks that still run with it.
class Submission {
 public:
  virtual ~Submission() = default;

  /// Tells events and ticks as they come, until every rank has ended, whatever that is: an error means that nobody can
  /// say any more what becomes of them. Cancels when LaunchOptions::cancelled says so; on Ctrl-C ranks are stopped.
  virtual Status Follow() = 0;
  /// Ends the ranks at once, as somebody's kill would. From any thread.
  virtual void Cancel() = 0;
  /// After Follow, once: what was seen of the run, and how it ended.
  virtual job::RunRecord Outcome() = 0;
};

/// May be used from several threads at once. Nothing that it started outlives it.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Starts all ranks of `plan`, or puts them in a queue. Plan and options must outlive the submission. An error means
  /// that they can never be started: no worker, no such machine.
  virtual Result<std::unique_ptr<Submission>> Submit(const job::Plan& plan, const LaunchOptions& options) = 0;
  /// Whether ranks run on this machine.
  virtual bool runs_here() const { return true; }
  /// How many plans of one rank there is room for at once.
  virtual int slots() const { return 1; }
  /// Where ranks run elsewhere: runs a program of ours on a machine where they would, and returns what it prints.
  virtual Result<std::string> Ask(const std::vector<std::string>& command);

  /// Submits `plan`, follows it to its end and says how that was. The record has rank 0's events, then those of other
  /// ranks that name their rank; the sums of what all ranks used (the largest `max_rss_bytes`); and the end of the rank
  /// that failed first, which its reason names. On Ctrl-C the ranks are stopped and the record says so.
  Result<job::RunRecord> Run(const job::Plan& plan, const LaunchOptions& options);
};

/// The record's end as a Status: ok when done; kOutOfMemory, kInvalidArgument, kAborted, else (it diverged, too)
/// kInternal, a failed run.
Status EndStatus(const job::RunRecord& record);

}  // namespace assay::launch
