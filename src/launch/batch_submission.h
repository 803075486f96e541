// A plan as a job in the queue of a cluster whose machines share a folder with us.
#pragma once

#include <string>

#include "base/status.h"
#include "base/text.h"
#include "launch/agent_submission.h"
#include "launch/line_folder.h"

namespace assay::launch {

/// What a queue is given. On each machine of the plan an agent runs `folder`/plan.json, writes its lines into
/// `folder`/lines, and ends when nobody has touched `folder`/alive for a minute.
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

/// From several threads at once.
class BatchQueue {
 public:
  virtual ~BatchQueue() = default;
  /// Returns the job's name in the queue.
  virtual Result<std::string> Enqueue(const BatchJob& job) = 0;
  /// An error means that the queue does not answer now.
  virtual Result<BatchState> Look(const std::string& name) = 0;
  /// Ends the job, or takes it out of the queue. Nothing where it has ended.
  virtual void Cancel(const std::string& name) = 0;
  /// Takes out what the queue keeps of a job that has ended.
  virtual void Forget(const std::string& /*name*/) {}
  /// What people call a job of it: "job 7 of Slurm".
  virtual std::string Describe(const std::string& name) const = 0;
};

/// Says on standard error why a job waits, when it has for ten seconds, and again when the reason is another.
class WaitTeller {
 public:
  /// `job` has not started; `why` may be empty.
  void Waits(const std::string& job, const std::string& why);

 private:
  const double start_ = MonotonicSeconds();
  std::string told_;
};

class BatchSubmission : public AgentSubmission {
 public:
  /// `folder` is made; it goes with the submission. `queue`, plan and options outlive this. The queue is asked every
  /// `look_seconds`, files are read ten times as often.
  BatchSubmission(const job::Plan& plan, const LaunchOptions& options, BatchQueue& queue, std::string folder,
                  double look_seconds = 1);
  ~BatchSubmission() override;

  Status Start(const std::string& agent);
  Status Follow() override;
  void Cancel() override;

 private:
  void ReadLines();
  Status SayAlive();
  /// An error where the queue does not answer, or what keeps the agents alive cannot be written.
  Result<BatchState> Look();
  void LookAtJob();
  void TakeEnd(const BatchState& state);
  std::string LastWords() const;

  BatchQueue& queue_;
  const std::string folder_;
  const double look_seconds_;
  LineFolder lines_;
  std::string job_;
  int looks_ended_ = 0;
  int looks_unanswered_ = 0;  ///< since the queue or an agent said something
  int looks_refused_ = 0;
  WaitTeller waiting_;
  bool ended_ = false;
};

}  // namespace assay::launch
