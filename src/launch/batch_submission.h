// A plan as a job in the queue of a cluster whose machines share a folder with us.
#pragma once

#include <atomic>
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "launch/agent_submission.h"
#include "launch/batch_queue.h"
#include "launch/line_folder.h"

namespace assay::launch {

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
  /// `look_seconds`, files are read ten times as often, however long the queue takes to answer.
  BatchSubmission(const job::Plan& plan, const LaunchOptions& options, BatchQueue& queue, std::string folder,
                  double look_seconds = 1);
  ~BatchSubmission() override;

  Status Start(const std::string& agent);
  Status Follow() override;
  void Cancel() override;

 private:
  void ReadLines();
  /// From the queue or an agent.
  void Heard();
  /// To the agents; once cancelled, that they shall end, for a queue may not do it.
  Status SayAlive();
  /// Keeps the agents alive, and asks the queue.
  void Beat();
  void TakeLook(const BatchLook::Answer& look);
  /// `seconds` more in which nobody could say what becomes of the job, as `why` tells.
  void Unanswered(const Status& why, double seconds);
  void TakeState(const BatchState& state);
  void TakeEnd(const BatchState& state);
  std::string LastWords() const;

  BatchQueue& queue_;
  const std::string folder_;
  const double look_seconds_;
  LineFolder lines_;
  std::string job_;
  BatchLook look_;
  std::atomic<bool> cancelled_ = false;
  int looks_ended_ = 0;
  double seconds_unanswered_ = 0;  ///< since the queue or an agent said something
  double heard_at_ = MonotonicSeconds();
  bool told_unanswered_ = false;
  int looks_refused_ = 0;
  WaitTeller waiting_;
  bool ended_ = false;
};

}  // namespace assay::launch
