#include "measure/nvml.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text.h"

namespace assay::measure {
namespace {

// Types of nvml.h.
using Return = int;
using Device = struct DeviceHandle*;
constexpr Return kSuccess = 0;

struct UtilizationRates {
  unsigned int gpu;
  unsigned int memory;
};
struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// The entry points that we use. One that an old library lacks stays null.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*driver_version)(char*, unsigned int) = nullptr;
  Return (*count)(unsigned int*) = nullptr;
  Return (*handle)(unsigned int, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned int) = nullptr;
  Return (*uuid)(Device, char*, unsigned int) = nullptr;
  Return (*utilization)(Device, UtilizationRates*) = nullptr;
  Return (*memory)(Device, MemoryInfo*) = nullptr;
  Return (*power)(Device, unsigned int*) = nullptr;
  Return (*power_limit)(Device, unsigned int*) = nullptr;
  Return (*energy)(Device, unsigned long long*) = nullptr;
};

template <typename Function>
void Resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
}

Functions ResolveAll(void* library) {
  Functions functions;
  Resolve(library, "nvmlInit_v2", functions.init);
  Resolve(library, "nvmlShutdown", functions.shutdown);
  Resolve(library, "nvmlSystemGetDriverVersion", functions.driver_version);
  Resolve(library, "nvmlDeviceGetCount_v2", functions.count);
  Resolve(library, "nvmlDeviceGetHandleByIndex_v2", functions.handle);
  Resolve(library, "nvmlDeviceGetName", functions.name);
  Resolve(library, "nvmlDeviceGetUUID", functions.uuid);
  Resolve(library, "nvmlDeviceGetUtilizationRates", functions.utilization);
  Resolve(library, "nvmlDeviceGetMemoryInfo", functions.memory);
  Resolve(library, "nvmlDeviceGetPowerUsage", functions.power);
  Resolve(library, "nvmlDeviceGetEnforcedPowerLimit", functions.power_limit);
  Resolve(library, "nvmlDeviceGetTotalEnergyConsumption", functions.energy);
  return functions;
}

// The value that `function` gives for a device, or nothing.
template <typename Value>
std::optional<Value> Ask(Return (*function)(Device, Value*), Device device) {
  Value value = {};
  if (function == nullptr || function(device, &value) != kSuccess) {
    return std::nullopt;
  }
  return value;
}

template <typename Value>
double AskScaled(Return (*function)(Device, Value*), Device device, double scale) {
  const std::optional<Value> value = Ask(function, device);
  return value ? scale * static_cast<double>(*value) : std::numeric_limits<double>::quiet_NaN();
}

std::string AskText(Return (*function)(Device, char*, unsigned int), Device device) {
  std::array<char, 128> text = {};
  return function != nullptr && function(device, text.data(), text.size()) == kSuccess ? text.data() : "";
}

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  bool initialized = false;
  Functions functions;
  std::string driver_version;
  std::vector<Device> devices;  // by index; null for one that does not answer
  std::vector<GpuInfo> gpus;

  ~Library() {
    if (initialized && functions.shutdown != nullptr) {
      functions.shutdown();
    }
    if (handle != nullptr) {
      ::dlclose(handle);
    }
  }

  bool Initialize() {
    if (functions.init == nullptr || functions.count == nullptr || functions.handle == nullptr) {
      return false;
    }
    initialized = functions.init() == kSuccess;
    unsigned int count = 0;
    return initialized && functions.count(&count) == kSuccess && AddDevices(count);
  }

  bool AddDevices(unsigned int count) {
    devices.resize(count, nullptr);
    for (unsigned int i = 0; i < count; ++i) {
      if (functions.handle(i, &devices[i]) != kSuccess) {
        devices[i] = nullptr;
        continue;
      }
      const auto memory = Ask(functions.memory, devices[i]);
      gpus.push_back({.index = static_cast<int>(i),
                      .name = AskText(functions.name, devices[i]),
                      .uuid = AskText(functions.uuid, devices[i]),
                      .memory_bytes = static_cast<int64_t>(memory ? memory->total : 0)});
    }
    return !gpus.empty();
  }
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::~Nvml() = default;

std::shared_ptr<const Nvml> Nvml::Load(const std::string& path) {
  auto library = std::make_unique<Library>();
  library->handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) {
    return nullptr;
  }
  library->functions = ResolveAll(library->handle);
  if (!library->Initialize()) {
    return nullptr;
  }
  std::array<char, 80> version = {};
  if (library->functions.driver_version != nullptr &&
      library->functions.driver_version(version.data(), version.size()) == kSuccess) {
    library->driver_version = version.data();
  }
  return std::shared_ptr<const Nvml>(new Nvml(std::move(library)));
}

const std::string& Nvml::driver_version() const {
  return library_->driver_version;
}
const std::vector<GpuInfo>& Nvml::gpus() const {
  return library_->gpus;
}

GpuReading Nvml::Read(int index) const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Functions& functions = library_->functions;
  const Device device = library_->devices[static_cast<size_t>(index)];
  const auto utilization = Ask(functions.utilization, device);
  const auto memory = Ask(functions.memory, device);
  return {.utilization_percent = utilization ? utilization->gpu : kNan,
          .memory_used_bytes = memory ? static_cast<double>(memory->used) : kNan,
          .memory_total_bytes = memory ? static_cast<double>(memory->total) : kNan,
          .power_watts = AskScaled(functions.power, device, 1e-3),
          .power_limit_watts = AskScaled(functions.power_limit, device, 1e-3),
          .energy_joules = AskScaled(functions.energy, device, 1e-3)};
}

namespace {

// The GPU that one entry of CUDA_VISIBLE_DEVICES names: a number, or a beginning of its UUID.
std::optional<int> GpuNamed(std::string_view entry, const std::vector<GpuInfo>& gpus) {
  int number = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  const bool is_number = error == std::errc() && end == entry.data() + entry.size();
  for (const GpuInfo& gpu : gpus) {
    if (is_number ? gpu.index == number : !entry.empty() && gpu.uuid.starts_with(entry)) {
      return gpu.index;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> VisibleGpus(const std::vector<GpuInfo>& gpus) {
  std::vector<int> visible;
  const char* variable = std::getenv("CUDA_VISIBLE_DEVICES");
  if (variable == nullptr) {
    for (const GpuInfo& gpu : gpus) {
      visible.push_back(gpu.index);
    }
    return visible;
  }
  for (const std::string& entry : Split(variable, ',')) {
    const std::optional<int> index = GpuNamed(Trim(entry), gpus);
    if (!index) {
      break;
    }
    visible.push_back(*index);
  }
  return visible;
}

}  // namespace assay::measure
