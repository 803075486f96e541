#include "explore/host_provenance.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "launch/local_launcher.h"
#include "measure/machine.h"
#include "measure/nvml.h"
#include "samplestore/dependencies.h"
#include "version.h"

extern char** environ;

namespace assay::explore {
namespace {

/// Variables that begin so reach the libraries that do a worker's work, or choose another worker.
constexpr std::string_view kSettingPrefixes[] = {"ASSAY_COMM_",
                                                 "ASSAY_CPU_ISA=",
                                                 "ASSAY_WORKER=",
                                                 "ATEN_",
                                                 "CUBLAS",
                                                 "CUDA_LAUNCH",
                                                 "CUDNN_",
                                                 "DNNL_",
                                                 "GLIBC_TUNABLES=",
                                                 "GOMP_",
                                                 "KMP_",
                                                 "LD_LIBRARY_PATH=",
                                                 "LD_PRELOAD=",
                                                 "MALLOC_",
                                                 "MKL",
                                                 "NCCL_",
                                                 "NVIDIA_TF32_OVERRIDE=",
                                                 "OMP_",
                                                 "ONEDNN_",
                                                 "PYTORCH_",
                                                 "TORCH_"};

std::string VisibleGpuNames(const measure::Nvml* nvml) {
  std::vector<std::string> names;
  if (nvml != nullptr) {
    for (const int index : measure::VisibleGpus(nvml->gpus())) {
      names.push_back(nvml->gpus()[static_cast<size_t>(index)].name);
    }
  }
  return Join(names, ", ");
}

/// Two builds with uncommitted changes are two programs.
std::string Commit() {
  const std::string commit = kCommit;
  struct stat worker = {};
  const Result<std::string> path = launch::FindWorker();
  if (!commit.ends_with("-dirty") || !path.ok() || ::stat(path->c_str(), &worker) != 0) {
    return commit;
  }
  return fmt::format("{}-{:x}{:08x}", commit, worker.st_mtim.tv_sec, worker.st_mtim.tv_nsec);
}

ProvenanceMap WithKind(ProvenanceMap provenance) {
  provenance[samplestore::kMachine] = samplestore::MachineKind(provenance);
  return provenance;
}

}  // namespace

std::string CoresText(const measure::MachineInfo& machine) {
  const bool part_of_a_core = machine.cpu_quota > 0 && machine.cpu_quota < static_cast<double>(machine.usable_cores);
  return part_of_a_core ? fmt::format("{}", machine.cpu_quota) : std::to_string(machine.usable_cores);
}

Host Host::Look(bool look_for_gpus) {
  const auto nvml = look_for_gpus ? measure::Nvml::Load() : nullptr;
  const measure::MachineInfo machine = measure::DescribeMachine(nvml.get());
  const int64_t memory = machine.memory_limit_bytes > 0 ? machine.memory_limit_bytes : machine.memory_bytes;
  ProvenanceMap provenance = {
      {"host", machine.hostname},
      {"os", machine.os},
      {"kernel", machine.kernel},
      {"cpu", machine.cpu_model},
      {"cpu_features", measure::DescribeIsa(machine.isa)},
      {"cores", CoresText(machine)},
      {"memory", FormatBytes(static_cast<double>(memory))},
      {"version", kVersion},
      {samplestore::kCommit, Commit()},
      {samplestore::kLibtorch, kTorchVersion},
  };
  Host host;
  host.without_gpus_ = WithKind(provenance);
  if (const std::string gpus = VisibleGpuNames(nvml.get()); !gpus.empty()) {
    provenance["gpu"] = gpus;
    provenance["gpu_driver"] = machine.gpu_driver;
  }
  host.with_gpus_ = WithKind(std::move(provenance));
  return host;
}

std::string DescribeSettings(int64_t threads, int points_at_once) {
  std::vector<std::string> settings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (std::ranges::any_of(kSettingPrefixes, [&](std::string_view prefix) { return text.starts_with(prefix); })) {
      settings.emplace_back(text);
    }
  }
  std::ranges::sort(settings);
  if (points_at_once > 1) {
    settings.insert(settings.begin(), fmt::format("{} points at once", points_at_once));
  }
  if (threads > 0) {
    settings.insert(settings.begin(), fmt::format("threads {}", threads));
  }
  return settings.empty() ? "default" : Join(settings, ", ");
}

ProvenanceMap WorkerProvenance(const job::RunRecord& record) {
  ProvenanceMap provenance;
  if (const auto* started = job::FindEvent<job::Started>(record)) {
    provenance["device"] = started->device;
    provenance["threads"] = std::to_string(started->threads);
    provenance["isa"] = started->isa;
  }
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    provenance["weights"] = loaded->weights;
    provenance["model_type"] = loaded->model_type;
  }
  if (const auto* topology = job::FindEvent<job::Topology>(record); topology != nullptr && topology->world_size > 1) {
    provenance["communicator"] = topology->backend;
  }
  return provenance;
}

}  // namespace assay::explore
