#include "launch/torchrun_launcher.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "job/lifeline.h"
#include "launch/agent_submission.h"
#include "launch/line_folder.h"
#include "launch/rank_process.h"
#include "launch/run_directory.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

std::string TorchrunProgram() {
  const char* named = std::getenv("ASSAY_TORCHRUN");
  return named != nullptr && *named != '\0' ? named : "torchrun";
}

class TorchrunSubmission : public AgentSubmission {
 public:
  TorchrunSubmission(const job::Plan& plan, const LaunchOptions& options, RunDirectory directory)
      : AgentSubmission(plan, options, static_cast<int>(job::TrainingOf(plan).number_ranks)),
        directory_(std::move(directory)),
        lines_(directory_.path() + "/lines") {}

  Status Start(const std::string& agent) {
    const std::string plan_file = directory_.path() + "/plan.json";
    ASSAY_RETURN_IF_ERROR(MakeDirectories(lines_.path()));
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(plan_file, DumpJsonPretty(job::ToJson(plan()))));
    SubprocessOptions child;
    child.argv = {
        TorchrunProgram(),  "--standalone", fmt::format("--nproc-per-node={}", job::TrainingOf(plan()).number_ranks),
        "--max-restarts=0", "--no-python",  agent,
        "--plan",           plan_file,      "--lines",
        lines_.path(),      "--sample-hz",  fmt::format("{}", options().sample_hz)};
    child.environment = options().environment;
    child.environment[std::string(job::kLifelineVariable)] = "1";
    if (!options().worker.empty()) {
      child.environment["ASSAY_WORKER"] = options().worker;
    }
    child.lifeline = true;
    child.on_stdout_line = [this](std::string_view line) { tail_.Add(line); };
    child.on_stderr_line = [this](std::string_view line) { tail_.Add(line); };
    child.on_tick = [this] {
      ReadLines();
      Tick(/*unwanted=*/false);  // an interruption reaches torchrun as a signal
    };
    Result<Subprocess> process = Subprocess::Start(std::move(child));
    if (!process.ok()) {
      return Status::NotFound(
          fmt::format("{} (install torch, or name its torchrun with ASSAY_TORCHRUN)", process.status().message()));
    }
    process_.emplace(*std::move(process));
    return Status::Ok();
  }

  Status Follow() override {
    ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process_->Wait(options().grace_seconds));
    ReadLines();
    ASSAY_RETURN_IF_ERROR(reports().refused());
    LoseAll(fmt::format("torchrun ended with {}: {}", end.Describe(), LastLine()));
    return Status::Ok();
  }

  void Cancel() override { process_->Kill(SIGKILL); }

 private:
  void ReadLines() {
    lines_.Read([this](std::string_view line) { reports().Take(line); });
  }

  std::string LastLine() const {
    const std::vector<std::string> lines = Split(Trim(tail_.Text()), '\n');
    return lines.empty() ? "it said nothing" : lines.back();
  }

  const RunDirectory directory_;
  LineFolder lines_;
  Tail tail_;
  std::optional<Subprocess> process_;
};

}  // namespace

Result<std::unique_ptr<Submission>> TorchrunLauncher::Submit(const job::Plan& plan, const LaunchOptions& options) {
  if (const int64_t nodes = job::TrainingOf(plan).number_nodes; nodes > 1) {
    return Status::InvalidArgument(
        fmt::format("torchrun starts ranks on this machine alone, and the plan is for {} machines: leave number_nodes "
                    "out, or choose a launcher of many machines",
                    nodes));
  }
  ASSAY_RETURN_IF_ERROR(job::CheckRanksFit(plan));
  ASSAY_ASSIGN_OR_RETURN(const std::string agent, FindAgent());
  ASSAY_ASSIGN_OR_RETURN(RunDirectory directory, RunDirectory::Create());
  auto submission = std::make_unique<TorchrunSubmission>(plan, options, std::move(directory));
  ASSAY_RETURN_IF_ERROR(submission->Start(agent));
  return std::unique_ptr<Submission>(std::move(submission));
}

}  // namespace assay::launch
