// The processes of all ranks of a run: started together, and ended together.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "launch/node_report.h"
#include "launch/rank_process.h"

namespace assay::launch {

/// Start, then Wait, from one thread.
class RankGroup {
 public:
  /// Starts `ranks` processes as `child_of(rank)` says; `callbacks` are rank 0's, and on_tick goes on until all ranks
  /// have ended.
  Status Start(int ranks, const std::function<SubprocessOptions(int rank)>& child_of, RankProcess::Callbacks callbacks,
               double clock_start);

  struct Patience {
    double own_end_seconds;  ///< that the others have to find out, and to end themselves, when one fails
    double grace_seconds;    ///< between SIGTERM and SIGKILL
  };

  /// Blocks until every process has been reaped. When one fails, the others are ended too. Callbacks come from the
  /// calling thread.
  Status Wait(const Patience& patience);

  /// Sends `signal` to every rank that still runs. From any thread, once Start has returned.
  void Kill(int signal);

  std::vector<pid_t> pids() const;
  /// What was seen of each rank; after Wait, once.
  std::vector<RankReport> TakeReports();

 private:
  Status WaitFor(RankProcess& rank, const Patience& patience);
  void EndOthers(std::unique_lock<std::mutex>& lock, const Patience& patience);
  void TickUntilAllEnd();
  bool all_reaped() const { return reaped_.size() == ranks_.size(); }

  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::function<void()> on_tick_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<const RankProcess*> reaped_;  // protected by mutex_
  bool failing_ = false;                    // protected by mutex_
};

}  // namespace assay::launch
