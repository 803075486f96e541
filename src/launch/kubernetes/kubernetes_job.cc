#include "launch/kubernetes/kubernetes_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "base/terminal.h"
#include "base/yaml.h"

namespace assay::launch {
namespace {

using nlohmann::json;

constexpr int kSecondsKept = 300;  // of a job that has ended, where nobody is left to delete it

// $0 is the agent, $1 the run's folder, $2 the port at which ranks meet.
constexpr char kAgentScript[] = R"(folder=$1 port=$2; shift 2
if [ "$JOB_COMPLETION_INDEX" = 0 ]; then
  echo "$ASSAY_POD_IP" > "$folder/host.new" && mv "$folder/host.new" "$folder/host"
fi
seconds=0
until [ -s "$folder/host" ]; do
  [ $seconds -lt 600 ] || { echo "machine 0 of the run did not start" >> "$folder/job.log"; exit 1; }
  seconds=$((seconds + 1)); sleep 1
done
exec "$0" --node "$JOB_COMPLETION_INDEX" --meet "$(cat "$folder/host"):$port" "$@" 2>> "$folder/job.log")";

json EnvironmentOf(const std::map<std::string, std::string>& variables) {
  json environment = json::array();
  for (const auto& [name, value] : variables) {
    environment.push_back({{"name", name}, {"value", value}});
  }
  environment.push_back({{"name", "ASSAY_POD_IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}});
  return environment;
}

json TextsOf(const Resources& resources) {
  json texts = json::object();
  for (const auto& [name, amount] : resources) {
    texts[name] = fmt::format("{}", amount);
  }
  return texts;
}

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";

/// The rule that pods of a job are apart from each other.
json Apart(const std::string& name) {
  return {{"labelSelector", {{"matchLabels", {{kPodLabel, name}}}}}, {"topologyKey", "kubernetes.io/hostname"}};
}

/// The value under the names of `path`, or `fallback`.
template <typename T>
T At(const json& object, std::initializer_list<const char*> path, T fallback) {
  const json* at = &object;
  for (const char* name : path) {
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end()) {
      return fallback;
    }
    at = &*found;
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return at->is_string() ? at->get<T>() : fallback;
  } else if constexpr (std::is_same_v<T, json>) {
    return *at;
  } else {
    return at->is_number() || at->is_boolean() ? at->get<T>() : fallback;
  }
}

/// A set has those of its one job.
json SpecOf(const json& job) {
  const json jobs = At(job, {"spec", "replicatedJobs"}, json());
  return jobs.is_array() && !jobs.empty() ? At(jobs[0], {"template", "spec"}, json()) : At(job, {"spec"}, json());
}

/// Whether all pods of `job` run.
bool IsReady(const json& job) {
  for (const json& jobs : At(job, {"status", "replicatedJobsStatus"}, json::array())) {
    return At(jobs, {"ready"}, int64_t{0}) >= 1;
  }
  return At(job, {"status", "ready"}, int64_t{0}) >= MachinesOf(job);
}

/// The condition `type` of `object`'s status, where it is as `status` says.
std::optional<std::string> ConditionOf(const json& object, const std::string& type, const std::string& status) {
  for (const json& condition : At(object, {"status", "conditions"}, json::array())) {
    if (At(condition, {"type"}, std::string()) == type && At(condition, {"status"}, std::string()) == status) {
      const std::string message = At(condition, {"message"}, std::string());
      return OneLine(message.empty() ? At(condition, {"reason"}, type) : message);
    }
  }
  return std::nullopt;
}

/// Of all containers of `pod`, those that come first too.
std::vector<json> ContainersOf(const json& pod) {
  std::vector<json> all;
  for (const char* kind : {"initContainerStatuses", "containerStatuses"}) {
    const json some = At(pod, {"status", kind}, json::array());
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Why a container of `pod` cannot start, where waiting seldom helps.
std::optional<std::string> FaultOf(const json& pod) {
  static constexpr const char* kFaults[] = {"ErrImagePull",         "ImagePullBackOff",  "InvalidImageName",
                                            "CreateContainerError", "RunContainerError", "CreateContainerConfigError"};
  for (const json& container : ContainersOf(pod)) {
    const std::string reason = At(container, {"state", "waiting", "reason"}, std::string());
    if (std::ranges::any_of(kFaults, [&](const char* fault) { return reason == fault; })) {
      return OneLine(fmt::format("{}: {}", reason, At(container, {"state", "waiting", "message"}, std::string())));
    }
  }
  return std::nullopt;
}

/// What ended `pod`: its machine, or one of its containers. Empty where neither says.
std::string EndOf(const json& pod) {
  if (const std::string reason = At(pod, {"status", "reason"}, std::string()); !reason.empty()) {
    return OneLine(fmt::format("{}: {}", reason, At(pod, {"status", "message"}, std::string())));
  }
  for (const json& container : ContainersOf(pod)) {
    const std::string reason = At(container, {"state", "terminated", "reason"}, std::string());
    if (!reason.empty() && reason != "Completed") {
      return OneLine(
          fmt::format("{} with exit code {}", reason, At(container, {"state", "terminated", "exitCode"}, int64_t{0})));
    }
  }
  return "";
}

/// What JobOf adds to is of the kind it adds to, or left out.
Status CheckKinds(const std::string& file, const json& pod) {
  static const struct {
    json::json_pointer at;
    bool is_list;
  } kFields[] = {{json::json_pointer("/metadata/labels"), false},
                 {json::json_pointer("/metadata/annotations"), false},
                 {json::json_pointer("/spec/affinity"), false},
                 {json::json_pointer("/spec/affinity/podAntiAffinity"), false},
                 {json::json_pointer("/spec/affinity/podAntiAffinity") / kRequired, true},
                 {json::json_pointer("/spec/containers/0/env"), true},
                 {json::json_pointer("/spec/containers/0/resources"), false},
                 {json::json_pointer("/spec/containers/0/resources/requests"), false},
                 {json::json_pointer("/spec/containers/0/resources/limits"), false}};
  for (const auto& [at, is_list] : kFields) {
    const json field = pod.contains(at) ? pod.at(at) : json();
    if (!field.is_null() && !(is_list ? field.is_array() : field.is_object())) {
      return Status::InvalidArgument(
          fmt::format("{}: {} is no {}", file, at.to_string().substr(1), is_list ? "list" : "map"));
    }
  }
  return Status::Ok();
}

/// Whether the container was promised all the memory that it may take: else a machine that others filled may have ended
/// it within its limit.
bool HasItsMemory(const json& container) {
  const std::string limit = At(container, {"resources", "limits", "memory"}, std::string());
  const std::string request = At(container, {"resources", "requests", "memory"}, limit);
  const std::optional<double> most = ParseQuantity(limit);
  return most && ParseQuantity(request) == most;
}

}  // namespace

Resources ResourcesOf(const KubernetesOptions& options, int64_t ranks, bool on_gpus) {
  Resources resources = options.resources;
  resources["cpu"] = static_cast<double>(options.cpus_per_rank * ranks);
  if (on_gpus) {
    resources["nvidia.com/gpu"] = static_cast<double>(ranks);
  }
  return resources;
}

Result<json> ReadPod(const std::string& file) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode yaml, YamlNode::ReadFile(file));
  json pod = yaml.ToJson();
  const json containers = At(pod, {"spec", "containers"}, json());
  if (!containers.is_array() || containers.empty() || At(containers[0], {"image"}, std::string()).empty()) {
    return Status::InvalidArgument(
        fmt::format("{}: a pod needs spec.containers, whose first one names an image that has assay", file));
  }
  if (const std::string kind = At(pod, {"kind"}, std::string("Pod")); kind != "Pod" && kind != "PodTemplate") {
    return Status::InvalidArgument(fmt::format("{}: it describes a {}, not a Pod", file, kind));
  }
  ASSAY_RETURN_IF_ERROR(CheckKinds(file, pod));
  return pod;
}

json JobOf(const json& pod, const std::string& name, int64_t machines, const Resources& resources,
           const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  json spec = pod.at("spec");
  json& container = spec["containers"][0];
  container["name"] = At(container, {"name"}, std::string("assay"));
  container["command"] = command;
  container.erase("args");
  for (const json& variable : EnvironmentOf(environment)) {
    container["env"].push_back(variable);
  }
  for (const char* kind : {"requests", "limits"}) {
    container["resources"][kind].update(TextsOf(resources));
  }
  spec["restartPolicy"] = "Never";
  if (machines > 1) {
    spec["affinity"]["podAntiAffinity"][kRequired].push_back(Apart(name));
  }
  json metadata = {{"labels", At(pod, {"metadata", "labels"}, json::object())},
                   {"annotations", At(pod, {"metadata", "annotations"}, json::object())}};
  json labelled = metadata;
  labelled["labels"][kPodLabel] = name;
  metadata["name"] = name;
  metadata["labels"]["app.kubernetes.io/managed-by"] = "assay";
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", metadata},
          {"spec",
           {{"completionMode", "Indexed"},
            {"completions", machines},
            {"parallelism", machines},
            {"backoffLimit", 0},  // who submitted it decides whether it is run again
            {"ttlSecondsAfterFinished", kSecondsKept},
            {"template", {{"metadata", labelled}, {"spec", spec}}}}}};
}

json JobSetOf(json job) {
  json& spec = job["spec"];
  const json kept = spec["ttlSecondsAfterFinished"];
  spec.erase("ttlSecondsAfterFinished");  // a job goes with its set
  const json of_ranks = {{"name", "ranks"}, {"replicas", 1}, {"template", {{"spec", std::move(spec)}}}};
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", std::move(job["metadata"])},
          {"spec",
           {{"failurePolicy", {{"maxRestarts", 0}}},
            {"ttlSecondsAfterFinished", kept},
            {"replicatedJobs", json::array({of_ranks})}}}};
}

std::vector<std::string> AgentCommand(const BatchJob& job, const std::string& name) {
  // Pods may be of the machine's own network, where those of other jobs are too.
  const size_t port = 20000 + std::hash<std::string>{}(name) % 10000;
  return {"/bin/sh",     "-c",
          kAgentScript,  job.agent,
          job.folder,    fmt::format("{}", port),
          "--plan",      job.folder + "/plan.json",
          "--lines",     job.folder + "/lines",
          "--alive",     job.folder + "/alive",
          "--sample-hz", fmt::format("{}", job.options.sample_hz),
          "--job",       name};
}

Resources AskedBy(const json& job) {
  Resources asked;
  const json containers = At(SpecOf(job), {"template", "spec", "containers"}, json::array());
  const json first = containers.is_array() && !containers.empty() ? containers[0] : json();
  const json requests = At(first, {"resources", "requests"}, json::object());
  for (const auto& [name, amount] : requests.items()) {
    asked[name] = amount.is_string() ? ParseQuantity(amount.get<std::string>()).value_or(0) : 0;
  }
  return asked;
}

int64_t MachinesOf(const json& job) {
  return At(SpecOf(job), {"parallelism"}, int64_t{1});
}

BatchState StateOf(const json& job) {
  using Phase = BatchState::Phase;
  if (const auto why = ConditionOf(job, "Failed", "True")) {
    return {Phase::kEnded, "failed (" + *why + ")"};
  }
  if (ConditionOf(job, "Complete", "True") || ConditionOf(job, "Completed", "True")) {  // of a set
    return {Phase::kEnded, kComplete};
  }
  if (At(job, {"spec", "suspend"}, false)) {
    return {Phase::kWaiting, "it is suspended, as a queue such as Kueue keeps jobs for which it has no room"};
  }
  if (IsReady(job)) {
    return {Phase::kRunning};
  }
  return {};
}

std::string EndOfPods(const json& pods) {
  for (const json& pod : At(pods, {"items"}, json::array())) {
    if (std::string end = EndOf(pod); !end.empty()) {
      return end;
    }
  }
  return "";
}

bool WentBeyondMemory(const json& pods) {
  for (const json& pod : At(pods, {"items"}, json::array())) {
    const json containers = At(pod, {"spec", "containers"}, json::array());
    const json ranks = containers.is_array() && !containers.empty() ? containers[0] : json();
    if (!HasItsMemory(ranks)) {
      continue;
    }
    for (const json& container : At(pod, {"status", "containerStatuses"}, json::array())) {
      if (At(container, {"name"}, std::string()) == At(ranks, {"name"}, std::string()) &&
          At(container, {"state", "terminated", "reason"}, std::string()) == "OOMKilled") {
        return true;
      }
    }
  }
  return false;
}

BatchState StateOfPods(const json& pods) {
  const json items = At(pods, {"items"}, json::array());
  if (items.empty()) {
    return {BatchState::Phase::kWaiting, "it has no pods: a quota or a rule of the namespace may not let it have any"};
  }
  for (const json& pod : items) {
    if (const auto fault = FaultOf(pod)) {
      return {BatchState::Phase::kRefused, *fault};
    }
    if (const auto why = ConditionOf(pod, "PodScheduled", "False")) {
      return {BatchState::Phase::kWaiting, *why};
    }
  }
  return {};
}

std::optional<double> ParseQuantity(std::string_view text) {
  static const std::map<std::string, double, std::less<>> kUnits = {
      {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
      {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
      {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const auto unit = kUnits.find(std::string_view(end));
  return end == copy.c_str() || unit == kUnits.end() || !std::isfinite(number) ? std::nullopt
                                                                               : std::optional(number * unit->second);
}

Capacity CapacityOf(const json& nodes, const Resources& asked) {
  Capacity capacity;
  for (const auto& [name, wanted] : asked) {
    capacity.largest[name] = 0;
  }
  for (const json& node : At(nodes, {"items"}, json::array())) {
    const json has = At(node, {"status", "allocatable"}, json::object());
    const auto amount = [&](const std::string& name) {
      return ParseQuantity(At(has, {name.c_str()}, std::string("0"))).value_or(0);
    };
    bool fits = true;
    for (const auto& [name, wanted] : asked) {
      capacity.largest[name] = std::max(capacity.largest[name], amount(name));
      fits = fits && amount(name) >= wanted;
    }
    capacity.cpus += At(node, {"spec", "unschedulable"}, false) ? 0 : amount("cpu");
    capacity.fitting += fits ? 1 : 0;
  }
  return capacity;
}

}  // namespace assay::launch
