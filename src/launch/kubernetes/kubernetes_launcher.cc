#include "launch/kubernetes/kubernetes_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"
#include "launch/batch_submission.h"
#include "launch/kubernetes/kubernetes_api.h"
#include "launch/kubernetes/kubernetes_machines.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

using nlohmann::json;

/// For a server that does not answer now: as one is started again, and where a stop of ours waits for it.
constexpr double kPatienceSeconds = 60;
constexpr double kShortPatienceSeconds = 3;

/// Calls until it is taken or refused for good, for about so long, or till Ctrl-C.
template <typename Call>
Status Insist(double seconds, const Call& call) {
  const double start = MonotonicSeconds();
  std::chrono::milliseconds pause(250);
  for (;;) {
    Status said = call();
    if (said.code() != ErrorCode::kIo || MonotonicSeconds() - start > seconds || InterruptRequested()) {
      return said;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(4000));
  }
}

std::string NewName() {
  return "assay-" + RandomUid();
}

Result<std::string> NeededVariable(const char* name, const char* what) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    return Status::InvalidArgument(fmt::format("launcher kubernetes needs {}: {}", name, what));
  }
  return std::string(value);
}

/// Whether jobs are asked for as JobSets.
Result<bool> InSets() {
  const char* named = std::getenv("ASSAY_KUBERNETES_JOB");
  const std::string kind = named == nullptr || *named == '\0' ? "Job" : named;
  if (kind != "Job" && kind != "JobSet") {
    return Status::InvalidArgument(fmt::format("ASSAY_KUBERNETES_JOB is {}: it is Job or JobSet", kind));
  }
  return kind == "JobSet";
}

class KubernetesQueue : public BatchQueue {
 public:
  KubernetesQueue(KubernetesApi& api, const KubernetesOptions& options, const json& pod, bool in_sets)
      : api_(api), options_(options), pod_(pod), in_sets_(in_sets) {}

  Result<std::string> Enqueue(const BatchJob& job) override {
    const job::TrainingPlan& training = job::TrainingOf(job.plan);
    ASSAY_ASSIGN_OR_RETURN(const int64_t ranks, RanksOfMachine(training));
    const std::string name = NewName();
    return Enqueue(name, training.number_nodes, ResourcesOf(options_, ranks, training.device == "cuda"),
                   AgentCommand(job, name), VariablesElsewhere(job.options));
  }

  Result<std::string> Enqueue(const std::string& name, int64_t machines, const Resources& resources,
                              const std::vector<std::string>& command,
                              const std::map<std::string, std::string>& environment) {
    json job = JobOf(pod_, name, machines, resources, command, environment);
    if (in_sets_) {
      job = JobSetOf(std::move(job));
    }
    WaitTeller waiting;
    const Status created = Insist(kPatienceSeconds, [&] {
      Status tried = api_.CreateJob(job);
      waiting.Waits(Describe(name), tried.message());
      return tried;
    });
    if (!created.ok()) {
      Cancel(name);  // it may be there, and only its answer was lost
      return created;
    }
    return name;
  }

  Result<BatchState> Look(const std::string& name) override {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<json> job, api_.FindJob(name));
    if (!job) {
      return BatchState{BatchState::Phase::kEnded, "deleted"};
    }
    BatchState state = StateOf(*job);
    const bool has_failed = state.phase == BatchState::Phase::kEnded && state.why != kComplete;
    if (!has_failed && (state.phase != BatchState::Phase::kWaiting || !state.why.empty())) {
      return state;
    }
    ASSAY_ASSIGN_OR_RETURN(const json pods, api_.PodsOf(kPodLabel, name));
    if (has_failed) {
      const std::string end = EndOfPods(pods);
      state.why += end.empty() ? "" : ", its pod by " + end;
      state.out_of_memory = WentBeyondMemory(pods);
      return state;
    }
    state = StateOfPods(pods);
    if (state.phase == BatchState::Phase::kWaiting && !state.why.empty()) {
      if (const std::optional<std::string> lacking = machines_.Lacking(*job)) {
        return BatchState{BatchState::Phase::kNever, *lacking};
      }
    }
    return state;
  }

  void Cancel(const std::string& name) override {
    static_cast<void>(Insist(kShortPatienceSeconds, [&] { return api_.DeleteJob(name); }));
  }
  void Forget(const std::string& name) override { Cancel(name); }
  std::string Describe(const std::string& name) const override { return fmt::format("job {} of Kubernetes", name); }

 private:
  KubernetesApi& api_;
  const KubernetesOptions& options_;
  const json& pod_;
  const bool in_sets_;
  KubernetesMachines machines_{[this] { return api_.Nodes(); }};
};

/// Until it has ended, or cannot be.
Result<BatchState> WaitForEnd(KubernetesQueue& queue, const std::string& name) {
  WaitTeller waiting;
  for (;;) {
    BatchState state;
    ASSAY_RETURN_IF_ERROR(Insist(kPatienceSeconds, [&] {
      Result<BatchState> looked = queue.Look(name);
      state = looked.ok() ? *std::move(looked) : BatchState();
      return looked.status();
    }));
    if (state.phase == BatchState::Phase::kWaiting) {
      waiting.Waits(queue.Describe(name), state.why);
    } else if (state.phase != BatchState::Phase::kRunning) {
      return state;
    }
    if (InterruptRequested()) {
      return Status::Aborted("interrupted");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

int SlotsOf(KubernetesApi& api, int64_t cpus_per_rank) {
  const Result<json> nodes = api.Nodes();
  const double cpus = nodes.ok() ? CapacityOf(*nodes, {}).cpus : 0;
  return std::max(1, static_cast<int>(cpus / static_cast<double>(cpus_per_rank)));
}

}  // namespace

struct KubernetesLauncher::Parts {
  KubernetesOptions options;
  std::string folder;
  json pod;
  bool in_sets = false;
  std::unique_ptr<KubernetesApi> api;
  KubernetesQueue queue{*api, options, pod, in_sets};
};

KubernetesLauncher::KubernetesLauncher(std::unique_ptr<Parts> parts, int slots)
    : parts_(std::move(parts)), slots_(slots) {}

KubernetesLauncher::~KubernetesLauncher() = default;

Result<std::unique_ptr<Launcher>> KubernetesLauncher::Open(KubernetesOptions options) {
  ASSAY_ASSIGN_OR_RETURN(std::string folder,
                         NeededVariable("ASSAY_KUBERNETES_FOLDER", "a folder that the pods mount under the same path"));
  if (!std::filesystem::path(folder).is_absolute()) {
    return Status::InvalidArgument(fmt::format(
        "ASSAY_KUBERNETES_FOLDER is {}: it needs a path that begins with /, under which the pods have it too", folder));
  }
  ASSAY_ASSIGN_OR_RETURN(
      const std::string file,
      NeededVariable("ASSAY_KUBERNETES_POD", "a YAML file with the pod in which ranks run: its image, its volumes"));
  ASSAY_ASSIGN_OR_RETURN(json pod, ReadPod(file));
  ASSAY_ASSIGN_OR_RETURN(const bool in_sets, InSets());
  ASSAY_ASSIGN_OR_RETURN(auto api, KubernetesApi::Open(options.address, in_sets ? kJobSet : kJob));
  const int slots = SlotsOf(*api, options.cpus_per_rank);
  auto parts =
      std::unique_ptr<Parts>(new Parts{std::move(options), std::move(folder), std::move(pod), in_sets, std::move(api)});
  return std::unique_ptr<Launcher>(new KubernetesLauncher(std::move(parts), slots));
}

Result<std::unique_ptr<Submission>> KubernetesLauncher::Submit(const job::Plan& plan, const LaunchOptions& options) {
  ASSAY_RETURN_IF_ERROR(RanksOfMachine(job::TrainingOf(plan)).status());
  ASSAY_ASSIGN_OR_RETURN(const std::string agent, FindAgent());
  auto submission = std::make_unique<BatchSubmission>(plan, options, parts_->queue, parts_->folder + "/" + RandomUid());
  ASSAY_RETURN_IF_ERROR(submission->Start(agent));
  return std::unique_ptr<Submission>(std::move(submission));
}

Result<std::string> KubernetesLauncher::Ask(const std::vector<std::string>& command) {
  const std::string folder = parts_->folder + "/" + RandomUid();
  ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
  std::vector<std::string> argv = {"/bin/sh", "-c", "exec \"$@\" > \"$0/out\" 2> \"$0/words\"", folder};
  argv.insert(argv.end(), command.begin(), command.end());
  const std::string name = NewName();
  const Result<std::string> enqueued = parts_->queue.Enqueue(
      name, /*machines=*/1, ResourcesOf(parts_->options, 1, /*on_gpus=*/false), argv, VariablesElsewhere({}));
  const Result<BatchState> end = enqueued.ok() ? WaitForEnd(parts_->queue, name) : enqueued.status();
  if (enqueued.ok()) {
    parts_->queue.Cancel(name);
  }
  const Result<std::string> out = ReadFile(folder + "/out");
  const Result<std::string> words = ReadFile(folder + "/words");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  ASSAY_RETURN_IF_ERROR(end.status());
  if (end->phase == BatchState::Phase::kEnded && end->why == kComplete && out.ok()) {
    return out;
  }
  return Status::NotFound(fmt::format("{} could not be run in {}: {}{}", command.front(), parts_->queue.Describe(name),
                                      end->why, words.ok() && !words->empty() ? ": " + OneLine(*words) : ""));
}

}  // namespace assay::launch
