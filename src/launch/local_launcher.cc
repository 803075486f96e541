#include "launch/local_launcher.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "launch/gather.h"
#include "launch/node_run.h"
#include "launch/rank_variables.h"
#include "launch/run_directory.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

Result<NodeShare> AllRanks(const job::TrainingPlan& training) {
  const auto ranks = static_cast<int>(training.number_ranks);
  const auto nodes = static_cast<int>(training.number_nodes);
  NodeShare share{.first_rank = 0, .ranks = ranks};
  if (ranks > 1) {
    ASSAY_ASSIGN_OR_RETURN(const MeetingPlace place, ChooseMeetingPlace());
    share.rank_variables = [=](int rank) { return RankVariables(place, rank, ranks, nodes); };
  }
  return share;
}

class LocalSubmission : public Submission {
 public:
  LocalSubmission(const job::Plan& plan, NodeShare share, const LaunchOptions& options, RunDirectory directory)
      : plan_(plan), directory_(std::move(directory)), run_(plan, std::move(share), options) {}

  Status Start(const std::string& worker) {
    const std::string plan_file = directory_.path() + "/plan.json";
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(plan_file, DumpJsonPretty(job::ToJson(plan_))));
    return run_.Start(worker, plan_file);
  }

  Status Follow() override { return run_.Wait(); }
  void Cancel() override { run_.Kill(SIGKILL); }
  job::RunRecord Outcome() override {
    return Gather(plan_, {run_.Report()}, InterruptRequested(), MonotonicSeconds() - start_);
  }

 private:
  const double start_ = MonotonicSeconds();
  const job::Plan& plan_;
  const RunDirectory directory_;
  NodeRun run_;
};

}  // namespace

Result<std::unique_ptr<Submission>> LocalLauncher::Submit(const job::Plan& plan, const LaunchOptions& options) {
  ASSAY_RETURN_IF_ERROR(job::CheckRanksFit(plan));
  std::string worker = options.worker;
  if (worker.empty()) {
    ASSAY_ASSIGN_OR_RETURN(worker, FindProgram(plan));
  }
  ASSAY_ASSIGN_OR_RETURN(NodeShare share, AllRanks(job::TrainingOf(plan)));
  ASSAY_ASSIGN_OR_RETURN(RunDirectory directory, RunDirectory::Create());
  auto submission = std::make_unique<LocalSubmission>(plan, std::move(share), options, std::move(directory));
  ASSAY_RETURN_IF_ERROR(submission->Start(worker));
  return std::unique_ptr<Submission>(std::move(submission));
}

Result<job::RunRecord> RunWorker(const job::Plan& plan, const LaunchOptions& options) {
  return LocalLauncher().Run(plan, options);
}

}  // namespace assay::launch
