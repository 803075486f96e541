// A plan whose ranks agents run: what is the same however the agents' lines come.
#pragma once

#include <string>

#include "base/text.h"
#include "launch/agent_reports.h"
#include "launch/launcher.h"

namespace assay::launch {

/// Belongs to the thread that follows, but for Cancel.
class AgentSubmission : public Submission {
 public:
  job::RunRecord Outcome() override;

 protected:
  /// `agents` run the ranks of `plan`, each those of a machine, or one rank.
  AgentSubmission(const job::Plan& plan, const LaunchOptions& options, int agents);

  /// What the agents' lines are given to.
  AgentReports& reports() { return reports_; }
  const job::Plan& plan() const { return plan_; }
  const LaunchOptions& options() const { return options_; }

  /// Cancels, once, what nobody wants any more, or where `unwanted` says so, and tells what the ranks use now.
  void Tick(bool unwanted);
  /// Agent `agent` will say no more; nothing where there is no such agent, or it has said all.
  void Lose(int agent, const std::string& why);
  void LoseAll(const std::string& why);
  /// Nothing that time changes will start the ranks: the run is invalid on such machines.
  void NeverStarts(std::string why) { never_ = std::move(why); }
  /// The kernel ended agents with their ranks, so that none could tell it: of a run that is lost, this is why.
  void OutOfMemory(std::string why) { out_of_memory_ = std::move(why); }

 private:
  const double start_ = MonotonicSeconds();
  const job::Plan& plan_;
  const LaunchOptions& options_;
  const int agents_;
  AgentReports reports_;
  std::string never_;
  std::string out_of_memory_;
  bool cancelled_ = false;
};

/// Of each machine of `plan`; kInvalidArgument where its machines would have unequally many.
Result<int64_t> RanksOfMachine(const job::TrainingPlan& plan);

}  // namespace assay::launch
