#include "explore/host_provenance.h"

#include <vector>

#include "base/text.h"
#include "measure/machine.h"
#include "measure/nvml.h"
#include "version.h"

namespace assay::explore {

std::map<std::string, std::string> HostProvenance(bool with_gpus) {
  const auto nvml = with_gpus ? measure::Nvml::Load() : nullptr;
  const measure::MachineInfo machine = measure::DescribeMachine(nvml.get());
  std::map<std::string, std::string> provenance = {
      {"host", machine.hostname},
      {"os", machine.os},
      {"kernel", machine.kernel},
      {"cpu", machine.cpu_model},
      {"cpu_features", measure::DescribeIsa(machine.isa)},
      {"cores", std::to_string(machine.usable_cores)},
      {"memory", FormatBytes(static_cast<double>(machine.memory_bytes))},
      {"version", kVersion},
      {"commit", kCommit},
  };
  std::vector<std::string> gpus;
  for (const measure::GpuInfo& gpu : machine.gpus) {
    gpus.push_back(gpu.name);
  }
  if (!gpus.empty()) {
    provenance["gpu"] = Join(gpus, ", ");
    provenance["gpu_driver"] = machine.gpu_driver;
  }
  return provenance;
}

std::map<std::string, std::string> WorkerProvenance(const job::RunRecord& record) {
  std::map<std::string, std::string> provenance;
  if (const auto* started = job::FindEvent<job::Started>(record)) {
    provenance["libtorch"] = started->libtorch;
    provenance["device"] = started->device;
    provenance["threads"] = std::to_string(started->threads);
    provenance["isa"] = started->isa;
  }
  if (const auto* loaded = job::FindEvent<job::Loaded>(record)) {
    provenance["weights"] = loaded->weights;
    provenance["model_type"] = loaded->model_type;
  }
  return provenance;
}

}  // namespace assay::explore
