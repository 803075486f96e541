#include "launch/node_facts.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string_view>
#include <vector>

#include "base/text.h"
#include "launch/worker_program.h"
#include "measure/machine.h"
#include "version.h"

namespace assay::launch {
namespace {

std::string VisibleGpuNames(const measure::Nvml* nvml) {
  std::vector<std::string> names;
  if (nvml != nullptr) {
    for (const int index : measure::VisibleGpus(nvml->gpus())) {
      names.push_back(nvml->gpus()[static_cast<size_t>(index)].name);
    }
  }
  return Join(names, ", ");
}

}  // namespace

/// Two builds with uncommitted changes are two programs.
std::string OwnCommit() {
  const std::string commit = kCommit;
  struct stat worker = {};
  const Result<std::string> path = FindWorker();
  if (!commit.ends_with("-dirty") || !path.ok() || ::stat(path->c_str(), &worker) != 0) {
    return commit;
  }
  return fmt::format("{}-{:x}{:08x}", commit, worker.st_mtim.tv_sec, worker.st_mtim.tv_nsec);
}

std::string CoresText(const measure::MachineInfo& machine) {
  const bool part_of_a_core = machine.cpu_quota > 0 && machine.cpu_quota < static_cast<double>(machine.usable_cores);
  return part_of_a_core ? fmt::format("{}", machine.cpu_quota) : std::to_string(machine.usable_cores);
}

std::map<std::string, std::string> DescribeNode(const measure::Nvml* nvml) {
  const measure::MachineInfo machine = measure::DescribeMachine(nvml);
  const int64_t memory = machine.memory_limit_bytes > 0 ? machine.memory_limit_bytes : machine.memory_bytes;
  std::map<std::string, std::string> facts = {
      {"host", machine.hostname},
      {"os", machine.os},
      {"kernel", machine.kernel},
      {"cpu", machine.cpu_model},
      {"cpu_features", measure::DescribeIsa(machine.isa)},
      {"cores", CoresText(machine)},
      {"memory", FormatBytes(static_cast<double>(memory))},
      {"version", kVersion},
      {"commit", OwnCommit()},
      {"libtorch", kTorchVersion},
  };
  if (const std::string gpus = VisibleGpuNames(nvml); !gpus.empty()) {
    facts["gpu"] = gpus;
    facts["gpu_driver"] = machine.gpu_driver;
  }
  return facts;
}

}  // namespace assay::launch
