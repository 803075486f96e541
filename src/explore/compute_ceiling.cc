#include "explore/compute_ceiling.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "measure/machine.h"
#include "measure/nvml.h"
#include "version.h"

namespace assay::explore {
namespace {

/// Another machine, libtorch or number of threads has other ceilings.
std::string FileOf(const experiment::CeilingNeed& need) {
  const auto nvml = need.on_gpu ? measure::Nvml::Load() : nullptr;
  const measure::MachineInfo machine = measure::DescribeMachine(nvml.get());
  std::string key = fmt::format("{} {} {} {} {}", machine.hostname, machine.cpu_model, machine.usable_cores,
                                need.threads, kTorchVersion);
  for (const measure::GpuInfo& gpu : machine.gpus) {
    key += " " + gpu.name;
  }
  return need.cache_dir + "/" + Sha256Hex(key) + ".json";
}

Result<double> TflopsOf(const nlohmann::json& ceilings, const std::string& dtype) {
  if (ceilings.is_object() && ceilings.contains("products") && ceilings["products"].is_array()) {
    for (const nlohmann::json& product : ceilings["products"]) {
      if (product.is_object() && product.value("dtype", "") == dtype && product.value("tflops", 0.0) > 0) {
        return product["tflops"].get<double>();
      }
    }
  }
  return Status::NotFound("no ceiling of " + dtype + " products was measured");
}

/// Of each product in `measured` the faster of both.
nlohmann::json Faster(nlohmann::json measured, const nlohmann::json& kept) {
  if (measured.is_object() && measured.contains("products")) {
    for (nlohmann::json& product : measured["products"]) {
      const Result<double> before = TflopsOf(kept, product.value("dtype", ""));
      if (before.ok() && *before > product.value("tflops", 0.0)) {
        product["tflops"] = *before;
      }
    }
  }
  return measured;
}

}  // namespace

Result<double> CeilingTflops(const experiment::CeilingNeed& need, const CeilingsFunction& measure, double reached) {
  const std::string path = FileOf(need);
  const Result<nlohmann::json> kept = ReadJsonFile(path);
  Result<double> tflops = kept.ok() ? TflopsOf(*kept, need.dtype) : Result<double>(kept.status());
  const auto devices = static_cast<double>(need.devices);
  if (!tflops.ok() || *tflops * devices < reached) {
    ASSAY_ASSIGN_OR_RETURN(nlohmann::json measured, measure(need.threads));
    measured = Faster(std::move(measured), kept.ok() ? *kept : nlohmann::json());
    if (MakeDirectories(need.cache_dir).ok()) {
      (void)WriteFileAtomically(path, DumpJsonPretty(measured));
    }
    tflops = TflopsOf(measured, need.dtype);
  }
  ASSAY_RETURN_IF_ERROR(tflops.status());
  return *tflops * devices;
}

}  // namespace assay::explore
