#include "explore/host_provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "launch/node_facts.h"
#include "measure/nvml.h"
#include "samplestore/dependencies.h"

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

ProvenanceMap WithKind(ProvenanceMap provenance) {
  provenance[samplestore::kMachine] = samplestore::MachineKind(provenance);
  return provenance;
}

}  // namespace

Host Host::Look(bool look_for_gpus) {
  const auto nvml = look_for_gpus ? measure::Nvml::Load() : nullptr;
  return Of(launch::DescribeNode(nvml.get()));
}

Host Host::Of(ProvenanceMap facts) {
  Host host;
  host.with_gpus_ = WithKind(facts);
  facts.erase("gpu");
  facts.erase("gpu_driver");
  host.without_gpus_ = WithKind(std::move(facts));
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
  ProvenanceMap provenance = record.machine.empty() ? ProvenanceMap() : WithKind(record.machine);
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
