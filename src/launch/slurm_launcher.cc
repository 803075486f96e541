#include "launch/slurm_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

/// How long a program of Slurm's may take to answer.
double PatienceSeconds() {
  constexpr double kUsual = 30;  // Slurm's own programs give a busy controller 10 s, some of them three times
  const char* named = std::getenv("ASSAY_SLURM_PATIENCE");
  const double seconds = named == nullptr ? 0 : std::atof(named);
  return seconds > 0 ? seconds : kUsual;
}

struct SlurmCall {
  std::map<std::string, std::string> environment = {};
  double patience_seconds = PatienceSeconds();
  bool ends_on_interrupt = true;  ///< else it has less time then
};

constexpr double kPatienceOnceInterrupted = 10;

/// What srun says while other jobs have the machines, of which nobody knows how long they do.
constexpr std::string_view kQueued = "queued and waiting for resources";

/// What a program of Slurm's printed. An error is its own last words, one line; kIo too where it does not answer in
/// time.
Result<std::string> RunSlurm(std::vector<std::string> argv, SlurmCall call = {}) {
  std::string out;
  std::string words;
  bool silent = false;
  SubprocessOptions child;
  const std::string command = Join(argv, " ");
  const std::string program = argv.front();
  double since = MonotonicSeconds();
  std::optional<Subprocess> running;
  child.argv = std::move(argv);
  child.environment = std::move(call.environment);
  child.ends_on_interrupt = call.ends_on_interrupt;
  child.on_stdout_line = [&](std::string_view line) { out += std::string(line) + "\n"; };
  child.on_stderr_line = [&](std::string_view line) { words = line; };
  child.on_tick = [&] {
    if (InterruptRequested()) {
      call.patience_seconds = std::min(call.patience_seconds, kPatienceOnceInterrupted);
    }
    if (words.find(kQueued) != std::string::npos) {
      since = MonotonicSeconds();
    }
    if (MonotonicSeconds() - since > call.patience_seconds && !std::exchange(silent, true)) {
      running->Kill(SIGKILL);
    }
  };
  Result<Subprocess> process = Subprocess::Start(std::move(child));
  if (!process.ok()) {
    return Status::NotFound(
        fmt::format("{}: is Slurm installed here? (Debian: slurm-client)", process.status().message()));
  }
  running.emplace(*std::move(process));
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, running->Wait());
  if (call.ends_on_interrupt && InterruptRequested()) {
    return Status::Aborted("interrupted");
  }
  if (silent) {
    return Status::Io(fmt::format("{} did not answer for {} s: does slurmctld? (ASSAY_SLURM_PATIENCE=SECONDS)", command,
                                  call.patience_seconds));
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

/// Jobs by sbatch, squeue and scancel.
class SlurmQueue : public BatchQueue {
 public:
  explicit SlurmQueue(SlurmOptions options) : options_(std::move(options)) {}

  Result<std::string> Enqueue(const BatchJob& job) override {
    const std::string script = job.folder + "/job.sh";
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(
        script, SlurmScript(job::TrainingOf(job.plan), options_, job.folder, job.agent, job.options.sample_hz)));
    std::map<std::string, std::string> environment = job.options.environment;
    if (!job.options.worker.empty()) {
      environment["ASSAY_WORKER"] = job.options.worker;
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string answer,
                           RunSlurm({"sbatch", "--parsable", script}, {.environment = std::move(environment)}));
    return std::string(Trim(answer.substr(0, answer.find(';'))));
  }

  Result<BatchState> Look(const std::string& name) override {
    return SlurmState(RunSlurm({"squeue", "--noheader", "--states=all", "--jobs=" + name, "--format=%T|%r"},
                               {.ends_on_interrupt = false}));
  }

  void Cancel(const std::string& name) override {
    const Result<std::string> cancelled = RunSlurm({"scancel", "--quiet", name}, {.ends_on_interrupt = false});
    if (!cancelled.ok()) {
      fmt::print(stderr, "assay: {}; its agents are told to end it\n", cancelled.status().message());
    }
  }
  std::string Describe(const std::string& name) const override { return fmt::format("job {} of Slurm", name); }

 private:
  const SlurmOptions options_;
};

}  // namespace

Result<BatchState> SlurmState(const Result<std::string>& squeue) {
  using Phase = BatchState::Phase;
  // What no time changes. Machines that are down or reserved (ReqNodeNotAvail) come back.
  constexpr std::string_view kNeverReasons[] = {"PartitionConfig", "BadConstraints", "PartitionNodeLimit"};
  constexpr std::string_view kEnds[] = {"BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
                                        "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
  // A controller that answers forgets jobs some minutes after their end.
  constexpr std::string_view kForgotten = "Invalid job id specified";
  if (!squeue.ok() && squeue.status().message().find(kForgotten) == std::string::npos) {
    return squeue.status();
  }
  const std::vector<std::string> words = Split(squeue.ok() ? Trim(*squeue) : "", '|');
  const std::string state = words.empty() ? std::string() : words.front();
  const std::string reason = words.empty() ? std::string() : words.back();
  if (state.empty() || std::ranges::find(kEnds, state) != std::end(kEnds)) {
    return BatchState{Phase::kEnded, state.empty() ? "gone" : state};
  }
  if (state == "PENDING") {
    const bool never =
        std::ranges::any_of(kNeverReasons, [&](std::string_view one) { return reason.find(one) != std::string::npos; });
    return BatchState{never ? Phase::kNever : Phase::kWaiting, reason};
  }
  return BatchState{Phase::kRunning};
}

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
      Quoted(agent), Quoted(folder + "/plan.json"), Quoted(folder + "/lines"), Quoted(folder + "/alive"), sample_hz);
  return script;
}

SlurmLauncher::SlurmLauncher(SlurmOptions options, int slots)
    : options_(std::move(options)), slots_(slots), queue_(std::make_unique<SlurmQueue>(options_)) {}

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
  ASSAY_RETURN_IF_ERROR(RanksOfMachine(job::TrainingOf(plan)).status());
  ASSAY_ASSIGN_OR_RETURN(const std::string agent, FindAgent());
  auto submission = std::make_unique<BatchSubmission>(plan, options, *queue_, SharedFolder() + "/" + RandomUid());
  ASSAY_RETURN_IF_ERROR(submission->Start(agent));
  return std::unique_ptr<Submission>(std::move(submission));
}

Result<std::string> SlurmLauncher::Ask(const std::vector<std::string>& command) {
  constexpr double kForWork = 10;  // times the patience with Slurm: the slowest that is asked takes half a minute
  std::vector<std::string> argv = {"srun", "--nodes=1"};
  for (std::string& option : ResourceOptions(options_, 1, /*on_gpus=*/false)) {
    argv.push_back(std::move(option));
  }
  argv.insert(argv.end(), command.begin(), command.end());
  return RunSlurm(std::move(argv), {.patience_seconds = kForWork * PatienceSeconds()});
}

}  // namespace assay::launch
