#include "launch/local_launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "launch/classify.h"
#include "launch/oom_count.h"

namespace assay::launch {
namespace {

/// The last lines that the worker wrote for people.
class Tail {
 public:
  void Add(std::string_view line) {
    constexpr size_t kMaxLines = 20;
    constexpr size_t kMaxLineBytes = 1000;
    lines_.emplace_back(line.substr(0, kMaxLineBytes));
    if (lines_.size() > kMaxLines) {
      lines_.pop_front();
    }
  }
  std::string Text() const { return Join({lines_.begin(), lines_.end()}, "\n"); }

 private:
  std::deque<std::string> lines_;
};

std::map<std::string, std::string> WorkerEnvironment(const job::Plan& plan, const LaunchOptions& options) {
  // Threads that spin while they wait take the cores from whoever shares the machine, and from the sampler.
  std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"}};
  if (const int64_t threads = job::ThreadsOf(plan); threads > 0) {
    environment["OMP_NUM_THREADS"] = std::to_string(threads);
    environment["MKL_NUM_THREADS"] = std::to_string(threads);
  }
  for (const auto& [name, value] : options.environment) {
    environment[name] = value;
  }
  return environment;
}

/// One run: what is set up before the worker starts, and what is gathered until it ends.
class Run {
 public:
  Run(const job::Plan& plan, const LaunchOptions& options)
      : plan_(plan), options_(options), sampler_(SamplingOf(plan, options)) {}

  Result<job::RunRecord> Execute(const std::string& worker) {
    const double start = MonotonicSeconds();
    ASSAY_ASSIGN_OR_RETURN(const TemporaryDirectory directory, TemporaryDirectory::Create("assay-run"));
    const std::string plan_file = directory.path() + "/plan.json";
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(plan_file, DumpJsonPretty(job::ToJson(plan_))));
    const int64_t kills_before = OutOfMemoryKills();
    ASSAY_ASSIGN_OR_RETURN(Subprocess process, Start(worker, plan_file));
    ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process.Wait(options_.grace_seconds));
    record_.samples = measure::ToColumns(sampler_.Stop());
    record_.max_rss_bytes = end.max_rss_bytes;
    record_.cpu_seconds = end.cpu_seconds;
    record_.stderr_tail = tail_.Text();
    Classify({end, InterruptRequested(), OutOfMemoryKills() > kills_before}, record_);
    record_.wall_seconds = MonotonicSeconds() - start;
    record_.overhead_seconds = record_.wall_seconds - WorkSeconds();
    return std::move(record_);
  }

 private:
  static measure::SamplerOptions SamplingOf(const job::Plan& plan, const LaunchOptions& options) {
    return {.hz = options.sample_hz, .nvml = job::IsForCpu(plan) ? nullptr : measure::Nvml::Load(), .gpus = {}};
  }

  Result<Subprocess> Start(const std::string& worker, const std::string& plan_file) {
    SubprocessOptions child;
    child.argv = {worker, "--plan", plan_file};
    child.environment = WorkerEnvironment(plan_, options_);
    child.on_stdout_line = [this](std::string_view line) { TakeLine(line); };
    child.on_stderr_line = [this](std::string_view line) { tail_.Add(line); };
    child.on_tick = [this] {
      if (options_.on_tick) {
        options_.on_tick(sampler_.Latest());
      }
    };
    Result<Subprocess> process = Subprocess::Start(std::move(child));
    if (process.ok()) {
      sampling_start_ = MonotonicSeconds();
      sampler_.Start(process->pid());
    }
    return process;
  }

  void TakeLine(std::string_view line) {
    Result<job::Event> event = job::EventFromJsonLine(line);
    if (!event.ok()) {
      tail_.Add(line);
      return;
    }
    if (options_.on_event) {
      options_.on_event(*event);
    }
    record_.events.push_back(*std::move(event));
    record_.event_seconds.push_back(MonotonicSeconds() - sampling_start_);
  }

  /// Loading and training, as the worker timed them.
  double WorkSeconds() const {
    const auto* loaded = job::FindEvent<job::Loaded>(record_);
    const auto* ended = job::FindEvent<job::Ended>(record_);
    return (loaded == nullptr ? 0 : loaded->seconds) + (ended == nullptr ? 0 : ended->train_runtime);
  }

  const job::Plan& plan_;
  const LaunchOptions& options_;
  measure::Sampler sampler_;
  double sampling_start_ = 0;
  Tail tail_;
  job::RunRecord record_;
};

}  // namespace

Result<std::string> FindWorker() {
  const char* named = std::getenv("ASSAY_WORKER");
  const std::string own = ExecutablePath();
  const std::string path =
      named != nullptr && *named != '\0' ? named : own.substr(0, own.rfind('/') + 1) + "assay-worker";
  if (access(path.c_str(), X_OK) == 0 && !IsDirectory(path)) {
    return path;
  }
  return Status::NotFound(
      fmt::format("cannot start a worker: {} is {} (build or install assay-worker beside assay, or name it with "
                  "ASSAY_WORKER)",
                  path, FileExists(path) || IsDirectory(path) ? "no program that may be run" : "not there"));
}

Result<job::RunRecord> RunWorker(const job::Plan& plan, const LaunchOptions& options) {
  std::string worker = options.worker;
  if (worker.empty()) {
    ASSAY_ASSIGN_OR_RETURN(worker, FindWorker());
  }
  return Run(plan, options).Execute(worker);
}

Status EndStatus(const job::RunRecord& record) {
  switch (record.end) {
    case job::RunEnd::kDone:
      return Status::Ok();
    case job::RunEnd::kOutOfMemory:
      return Status::OutOfMemory(record.reason);
    case job::RunEnd::kInvalid:
      return Status::InvalidArgument(record.reason);
    case job::RunEnd::kInterrupted:
      return Status::Aborted(record.reason);
    case job::RunEnd::kError:
    case job::RunEnd::kKilled:
    case job::RunEnd::kVanished:
      return Status::Internal(record.reason);
  }
  return Status::Internal(record.reason);
}

}  // namespace assay::launch
