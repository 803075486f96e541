// NVIDIA's management library, loaded at run time: the program needs neither its headers nor its presence.
//
// Prototypes and structures follow the NVML API reference (nvml.h, API version 12), of which they are the stable part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay::measure {

/// What does not change while a GPU is up.
struct GpuInfo {
  int index = 0;  ///< NVML's, in PCI bus order
  std::string name;
  std::string uuid;  ///< "GPU-..."
  int64_t memory_bytes = 0;
};

/// One reading of a GPU. NaN where the GPU or its driver does not tell.
struct GpuReading {
  double utilization_percent = 0;  ///< share of the driver's last sample period in which a kernel ran
  double memory_used_bytes = 0;    ///< of the whole device, every process's and the driver's included
  double memory_total_bytes = 0;
  double power_watts = 0;
  double power_limit_watts = 0;  ///< enforced
  double energy_joules = 0;      ///< since the driver was loaded
};

/// A loaded and initialised library. Immutable; safe from several threads, as NVML is.
class Nvml {
 public:
  /// Null, quietly, on a machine without the library, a driver or a GPU. Takes tens of milliseconds where they exist.
  static std::shared_ptr<const Nvml> Load(const std::string& library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  const std::string& driver_version() const;
  const std::vector<GpuInfo>& gpus() const;
  /// `index` is one of gpus().
  GpuReading Read(int index) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

/// The GPUs of `gpus` that CUDA_VISIBLE_DEVICES names by number or by UUID, in its order; all of them when it is not
/// set. As CUDA does, stops at the first entry that names none. Numbers are taken in PCI bus order.
std::vector<int> VisibleGpus(const std::vector<GpuInfo>& gpus);

}  // namespace assay::measure
