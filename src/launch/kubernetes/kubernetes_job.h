// What jobs of Kubernetes say: made of a user's pod, and read from what the API server tells of them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/plan.h"
#include "launch/batch_submission.h"

namespace assay::launch {

struct KubernetesOptions {
  std::string address = {};  ///< see KubernetesApi::Open
  int64_t cpus_per_rank = 1;
  std::map<std::string, double> resources = {};  ///< more of them, of each machine, as the cluster names them
};

/// Amounts by the cluster's names: cpu, nvidia.com/gpu, ...
using Resources = std::map<std::string, double>;

/// Of one machine with so many ranks.
Resources ResourcesOf(const KubernetesOptions& options, int64_t ranks, bool on_gpus);

/// The pod of the user's in which ranks run: a YAML file with `spec`, whose first container names an image and mounts
/// the shared folder, and `metadata`, of which jobs have the labels (of Kueue's queue, say) and annotations too. An
/// error names the file and what is wrong.
Result<nlohmann::json> ReadPod(const std::string& file);

/// The label of all pods of a job, with the job's name.
inline constexpr char kPodLabel[] = "assay-job";

/// A job of one pod on each of `machines` machines, in the first container of which `command` runs.
nlohmann::json JobOf(const nlohmann::json& pod, const std::string& name, int64_t machines, const Resources& resources,
                     const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);

/// A set of that one job, for clusters where the controller of JobSet (jobset.x-k8s.io/v1alpha2) looks after jobs.
nlohmann::json JobSetOf(nlohmann::json job);

/// What runs on each machine of `job`: machine 0 writes its address into the folder, where the others find it.
std::vector<std::string> AgentCommand(const BatchJob& job, const std::string& name);

// Of a job, or a set of one.
int64_t MachinesOf(const nlohmann::json& job);
/// What a job asks for on each of its machines.
Resources AskedBy(const nlohmann::json& job);

/// `why` of a job that did what it should.
inline constexpr char kComplete[] = "complete";

/// Of a job as the API server tells it; its pods may say more of one that waits.
BatchState StateOf(const nlohmann::json& job);
/// Of a job that failed: what ended the first of its pods that says it (out of memory, evicted), one line; empty where
/// none does.
std::string EndOfPods(const nlohmann::json& pods);
/// Whether the kernel ended ranks of `pods` for memory, where their container requests as much as its limit. With a
/// smaller request, or no limit, others of the machine may have used the memory up.
bool WentBeyondMemory(const nlohmann::json& pods);
/// Of a job that waits: why its pods do not start.
BatchState StateOfPods(const nlohmann::json& pods);

/// "3920m" is 3.92, "64Gi" is 2^36; nothing for what is no quantity.
std::optional<double> ParseQuantity(std::string_view text);

struct Capacity {
  double cpus = 0;      ///< of all machines that take pods now together
  int64_t fitting = 0;  ///< machines that have all of what is asked for
  Resources largest;    ///< of what is asked for, the most that a machine has
};
/// Whatever runs there now; a machine that takes no pods now (it is cordoned) will again.
Capacity CapacityOf(const nlohmann::json& nodes, const Resources& asked);

}  // namespace assay::launch
