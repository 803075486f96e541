// The queue of a cluster whose machines share a folder with us, and how it is asked without waiting for it.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "base/status.h"
#include "launch/launcher.h"

namespace assay::launch {

/// What a queue is given. On each machine of the plan an agent runs `folder`/plan.json, writes its lines into
/// `folder`/lines, and ends when nobody has touched `folder`/alive for a minute, or that is empty.
struct BatchJob {
  const job::Plan& plan;
  const LaunchOptions& options;
  std::string folder;  ///< that all machines share
  std::string agent;   ///< the program's path there
};

struct BatchState {
  enum class Phase {
    kWaiting,  ///< `why`, where the queue says it
    kRunning,
    kEnded,    ///< however; `why` says how
    kNever,    ///< the cluster has not what it asks for
    kRefused,  ///< where it stays so, it is wrong for every plan: an image that there is not
  };
  Phase phase = Phase::kWaiting;
  std::string why = {};        ///< one line
  bool out_of_memory = false;  ///< of kEnded: for the memory that it took of its own limit
};

/// From several threads at once. No call goes on for ever, whatever the cluster does.
class BatchQueue {
 public:
  virtual ~BatchQueue() = default;
  /// Returns the job's name in the queue.
  virtual Result<std::string> Enqueue(const BatchJob& job) = 0;
  /// An error means that the queue does not answer now.
  virtual Result<BatchState> Look(const std::string& name) = 0;
  /// Ends the job, or takes it out of the queue, on Ctrl-C too. Nothing where it has ended.
  virtual void Cancel(const std::string& name) = 0;
  /// Takes out what the queue keeps of a job that has ended.
  virtual void Forget(const std::string& /*name*/) {}
  /// What people call a job of it: "job 7 of Slurm".
  virtual std::string Describe(const std::string& name) const = 0;
};

/// Looks at a job on a thread of its own. Belongs to one thread; its end waits for the look under way.
class BatchLook {
 public:
  struct Answer {
    Result<BatchState> state;
    double seconds;  ///< that it took
  };

  /// Nothing where a look is under way, or was not taken yet. `queue` outlives this.
  void Begin(BatchQueue& queue, const std::string& job);
  /// Nothing where no look has ended since.
  std::optional<Answer> Take();

 private:
  std::future<Answer> under_way_;
};

}  // namespace assay::launch
