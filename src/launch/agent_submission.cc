#include "launch/agent_submission.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "base/subprocess.h"
#include "launch/gather.h"
#include "launch/node_facts.h"

namespace assay::launch {

AgentSubmission::AgentSubmission(const job::Plan& plan, const LaunchOptions& options, int agents)
    : plan_(plan), options_(options), agents_(agents), reports_(plan, agents, OwnCommit(), options) {}

job::RunRecord AgentSubmission::Outcome() {
  job::RunRecord record = Gather(plan_, reports_.TakeReports(), InterruptRequested(), MonotonicSeconds() - start_);
  if (!never_.empty()) {
    record.end = job::RunEnd::kInvalid;
    record.reason = never_;
  } else if (!out_of_memory_.empty() && record.end == job::RunEnd::kLost) {
    record.end = job::RunEnd::kOutOfMemory;
    record.signal = SIGKILL;
    record.reason = out_of_memory_;
  }
  return record;
}

void AgentSubmission::Tick(bool unwanted) {
  const bool to_cancel = unwanted || !reports_.refused().ok() || (options_.cancelled && options_.cancelled());
  if (to_cancel && !std::exchange(cancelled_, true)) {
    Cancel();
  }
  if (options_.on_tick) {
    options_.on_tick(reports_.Latest());
  }
}

void AgentSubmission::Lose(int agent, const std::string& why) {
  if (agent >= 0 && agent < agents_) {
    reports_.Lose(agent, why);
  }
}

void AgentSubmission::LoseAll(const std::string& why) {
  for (int agent = 0; agent < agents_; ++agent) {
    reports_.Lose(agent, why);
  }
}

Result<int64_t> RanksOfMachine(const job::TrainingPlan& plan) {
  if (plan.number_nodes < 1 || plan.number_ranks % plan.number_nodes != 0) {
    return Status::InvalidArgument(
        fmt::format("{} ranks do not make {} machines of equally many", plan.number_ranks, plan.number_nodes));
  }
  return plan.number_ranks / plan.number_nodes;
}

}  // namespace assay::launch
