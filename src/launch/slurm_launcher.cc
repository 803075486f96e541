#include "launch/slurm_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"
#include "launch/agent_reports.h"
#include "launch/gather.h"
#include "launch/line_folder.h"
#include "launch/node_facts.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

constexpr char kAliveFile[] = "alive";

/// What a program of Slurm's printed. An error is its own last words, one line.
Result<std::string> RunSlurm(std::vector<std::string> argv, std::map<std::string, std::string> environment = {}) {
  std::string out;
  std::string words;
  SubprocessOptions child;
  const std::string program = argv.front();
  child.argv = std::move(argv);
  child.environment = std::move(environment);
  child.on_stdout_line = [&](std::string_view line) { out += std::string(line) + "\n"; };
  child.on_stderr_line = [&](std::string_view line) { words = line; };
  Result<Subprocess> process = Subprocess::Start(std::move(child));
  if (!process.ok()) {
    return Status::NotFound(
        fmt::format("{}: is Slurm installed here? (Debian: slurm-client)", process.status().message()));
  }
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process->Wait());
  if (InterruptRequested()) {
    return Status::Aborted("interrupted");
  }
  if (!end.exited || end.exit_code != 0) {
    return Status::Io(fmt::format("{} ended with {}: {}", program, end.Describe(), OneLine(words)));
  }
  return out;
}

std::string SharedFolder() {
  const char* named = std::getenv("ASSAY_SLURM_FOLDER");
  return named != nullptr && *named != '\0' ? named : UserCacheDirectory() + "/slurm";
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

/// As options of sbatch and srun: of one machine with so many ranks.
std::vector<std::string> ResourceOptions(const SlurmOptions& options, int64_t ranks, bool on_gpus) {
  std::vector<std::string> words = {"--ntasks-per-node=1",
                                    fmt::format("--cpus-per-task={}", options.cpus_per_rank * ranks)};
  if (!options.partition.empty()) {
    words.push_back("--partition=" + options.partition);
  }
  std::vector<std::string> generic;
  if (on_gpus) {
    generic.push_back(fmt::format("gpu:{}", ranks));
  }
  for (const auto& [name, amount] : options.resources) {
    generic.push_back(fmt::format("{}:{}", name, static_cast<int64_t>(amount)));
  }
  if (!generic.empty()) {
    words.push_back("--gres=" + Join(generic, ","));
  }
  return words;
}

class SlurmSubmission : public Submission {
 public:
  SlurmSubmission(const job::Plan& plan, const LaunchOptions& options, std::string folder)
      : plan_(plan),
        options_(options),
        folder_(std::move(folder)),
        lines_(folder_ + "/lines"),
        nodes_(static_cast<int>(job::TrainingOf(plan).number_nodes)),
        reports_(plan, nodes_, OwnCommit(), options) {}

  ~SlurmSubmission() override {
    if (!ended_) {
      Cancel();
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Status Start(const SlurmOptions& slurm, const std::string& agent) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(lines_.path()));
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(folder_ + "/plan.json", DumpJsonPretty(job::ToJson(plan_))));
    ASSAY_RETURN_IF_ERROR(SayAlive());
    const std::string script = folder_ + "/job.sh";
    ASSAY_RETURN_IF_ERROR(
        WriteFileAtomically(script, SlurmScript(job::TrainingOf(plan_), slurm, folder_, agent, options_.sample_hz)));
    std::map<std::string, std::string> environment = options_.environment;
    if (!options_.worker.empty()) {
      environment["ASSAY_WORKER"] = options_.worker;
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string answer, RunSlurm({"sbatch", "--parsable", script}, environment));
    job_ = std::string(Trim(answer.substr(0, answer.find(';'))));
    return Status::Ok();
  }

  Status Follow() override {
    const double kStateSeconds = 1;
    double state_at = 0;
    while (!ended_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      Tick();
      if (const double now = MonotonicSeconds(); now - state_at >= kStateSeconds) {
        state_at = now;
        ASSAY_RETURN_IF_ERROR(SayAlive());
        ASSAY_RETURN_IF_ERROR(LookAtJob());
      }
    }
    return reports_.refused();
  }

  void Cancel() override {
    if (!job_.empty()) {
      static_cast<void>(RunSlurm({"scancel", "--quiet", job_}));
    }
  }

  job::RunRecord Outcome() override {
    job::RunRecord record = Gather(plan_, reports_.TakeReports(), InterruptRequested(), MonotonicSeconds() - start_);
    if (!never_.empty()) {
      record.end = job::RunEnd::kInvalid;
      record.reason = never_;
    }
    return record;
  }

 private:
  void Tick() {
    lines_.Read([this](std::string_view line) { reports_.Take(line); });
    const bool unwanted =
        InterruptRequested() || !reports_.refused().ok() || (options_.cancelled && options_.cancelled());
    if (unwanted && !std::exchange(cancelled_, true)) {
      Cancel();
    }
    if (options_.on_tick) {
      options_.on_tick(reports_.Latest());
    }
    ended_ = ended_ || reports_.all_ended();
  }

  /// Agents end when nobody has touched this for a while.
  Status SayAlive() { return WriteFileAtomically(folder_ + "/" + kAliveFile, UtcTimestamp() + "\n"); }

  Status LookAtJob() {
    const Result<std::string> answer = RunSlurm({"squeue", "--noheader", "--jobs=" + job_, "--format=%T|%r"});
    const std::string state = answer.ok() ? std::string(Trim(*answer)) : "";
    if (state.starts_with("PENDING|")) {
      // Reasons that no time changes.
      for (const char* reason : {"PartitionConfig", "BadConstraints", "PartitionNodeLimit", "ReqNodeNotAvail"}) {
        if (state.find(reason) != std::string::npos) {
          never_ = fmt::format("Slurm will not start job {}: {}", job_, state.substr(state.find('|') + 1));
          ended_ = true;
          Cancel();
        }
      }
      return Status::Ok();
    }
    const bool running =
        state.starts_with("RUNNING") || state.starts_with("CONFIGURING") || state.starts_with("COMPLETING");
    absent_ = running ? 0 : absent_ + 1;
    if (absent_ > kMostAbsent) {
      Tick();
      for (int node = 0; node < nodes_; ++node) {
        reports_.Lose(node, fmt::format("job {} of Slurm ended as {}: {}", job_,
                                        state.empty() ? "gone" : state.substr(0, state.find('|')), LastWords()));
      }
      ended_ = true;
    }
    return Status::Ok();
  }

  std::string LastWords() const {
    const Result<std::string> log = ReadFile(folder_ + "/job.log");
    const std::vector<std::string> lines = log.ok() ? Split(Trim(*log), '\n') : std::vector<std::string>();
    return lines.empty() ? "it said nothing" : OneLine(lines.back());
  }

  static constexpr int kMostAbsent = 3;  // files of a shared folder may come later than the end of their job

  const double start_ = MonotonicSeconds();
  const job::Plan& plan_;
  const LaunchOptions& options_;
  const std::string folder_;
  LineFolder lines_;
  const int nodes_;
  AgentReports reports_;
  std::string job_;
  std::string never_;
  int absent_ = 0;
  bool cancelled_ = false;
  bool ended_ = false;
};

}  // namespace

std::string SlurmScript(const job::TrainingPlan& plan, const SlurmOptions& options, const std::string& folder,
                        const std::string& agent, double sample_hz) {
  std::string script = "#!/bin/bash\n";
  script +=
      fmt::format("#SBATCH --job-name=assay\n#SBATCH --nodes={}\n#SBATCH --no-requeue\n#SBATCH --output={}/job.log\n",
                  plan.number_nodes, folder);
  for (const std::string& option :
       ResourceOptions(options, plan.number_ranks / plan.number_nodes, plan.device == "cuda")) {
    script += "#SBATCH " + option + "\n";
  }
  // Ports of jobs on one machine differ; those below are the system's own for outgoing connections on many.
  script += "host=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
  script += "port=$((20000 + SLURM_JOB_ID % 10000))\n";
  script += fmt::format(
      "srun --kill-on-bad-exit=0 --export=ALL bash -c 'exec \"$0\" --node \"$SLURM_PROCID\" \"$@\"' {} --plan {} "
      "--lines "
      "{} --alive {} --sample-hz {} --meet \"$host:$port\" --job \"$SLURM_JOB_ID\"\n",
      Quoted(agent), Quoted(folder + "/plan.json"), Quoted(folder + "/lines"), Quoted(folder + "/" + kAliveFile),
      sample_hz);
  return script;
}

Result<std::unique_ptr<Launcher>> SlurmLauncher::Open(SlurmOptions options) {
  std::vector<std::string> argv = {"sinfo", "--noheader", "--format=%C"};
  if (!options.partition.empty()) {
    argv.push_back("--partition=" + options.partition);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string answer, RunSlurm(std::move(argv)));
  // "allocated/idle/other/total" of each partition.
  int64_t cpus = 0;
  for (const std::string& line : Split(Trim(answer), '\n')) {
    const std::vector<std::string> counts = Split(line, '/');
    constexpr size_t kCounts = 4;
    cpus += counts.size() == kCounts ? std::atoll(counts[0].c_str()) + std::atoll(counts[1].c_str()) : 0;
  }
  if (cpus == 0) {
    return Status::NotFound(fmt::format("Slurm has no machine that can be used{}{}",
                                        options.partition.empty() ? "" : " in partition ", options.partition));
  }
  const int slots = static_cast<int>(std::max<int64_t>(1, cpus / options.cpus_per_rank));
  return std::unique_ptr<Launcher>(new SlurmLauncher(std::move(options), slots));
}

Result<std::unique_ptr<Submission>> SlurmLauncher::Submit(const job::Plan& plan, const LaunchOptions& options) {
  const job::TrainingPlan& training = job::TrainingOf(plan);
  if (training.number_nodes < 1 || training.number_ranks % training.number_nodes != 0) {
    return Status::InvalidArgument(
        fmt::format("{} ranks do not make {} machines of equally many", training.number_ranks, training.number_nodes));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string agent, FindAgent());
  auto submission = std::make_unique<SlurmSubmission>(plan, options, SharedFolder() + "/" + RandomUid());
  ASSAY_RETURN_IF_ERROR(submission->Start(options_, agent));
  return std::unique_ptr<Submission>(std::move(submission));
}

Result<std::string> SlurmLauncher::Ask(const std::vector<std::string>& command) {
  std::vector<std::string> argv = {"srun", "--nodes=1", "--quiet"};
  for (std::string& option : ResourceOptions(options_, 1, /*on_gpus=*/false)) {
    argv.push_back(std::move(option));
  }
  argv.insert(argv.end(), command.begin(), command.end());
  return RunSlurm(std::move(argv));
}

}  // namespace assay::launch
