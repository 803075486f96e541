#include "measure/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "measure/cgroup.h"
#include "measure/proc_file.h"

namespace assay::measure {
namespace {

constexpr char kCpuFolder[] = "/sys/devices/system/cpu/cpu";

struct IsaName {
  bool IsaFlags::* flag;
  const char* cpuinfo;  // in the "flags" line of /proc/cpuinfo, which knows what the kernel supports too
  const char* display;
};

constexpr IsaName kIsaNames[] = {
    {&IsaFlags::avx2, "avx2", "AVX2"},
    {&IsaFlags::fma, "fma", "FMA"},
    {&IsaFlags::avx512f, "avx512f", "AVX-512"},
    {&IsaFlags::avx512_bf16, "avx512_bf16", "AVX-512-BF16"},
    {&IsaFlags::avx512_fp16, "avx512_fp16", "AVX-512-FP16"},
    {&IsaFlags::amx_bf16, "amx_bf16", "AMX-BF16"},
};

std::string TrimmedFile(const std::string& path) {
  const auto text = ReadFile(path);
  return text.ok() ? std::string(Trim(*text)) : "";
}

// The value of the first line "key<spaces>: value" or "key=value".
std::string ValueOf(const std::string& text, std::string_view key, char separator) {
  for (const std::string& line : Split(text, '\n')) {
    const size_t at = line.find(separator);
    if (at != std::string::npos && Trim(std::string_view(line).substr(0, at)) == key) {
      return std::string(Trim(std::string_view(line).substr(at + 1)));
    }
  }
  return "";
}

// The CPUs of our affinity mask. The mask is doubled until the kernel's fits.
std::vector<int> AffinityCpus() {
  for (int count = 1024; count <= (1 << 20); count *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count), [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t size = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(size, set.get());
    if (::sched_getaffinity(0, size, set.get()) != 0) {
      continue;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set.get())) {
        cpus.push_back(cpu);
      }
    }
    return cpus;
  }
  return {};
}

// A folder of sysfs gives sizes as "32K" or "32768K".
int64_t SizeInBytes(const std::string& text) {
  const auto bytes = ParseBytes(text.ends_with('K') || text.ends_with('M') ? text + "iB" : text);
  return bytes.ok() ? *bytes : 0;
}

void DescribeCaches(const std::vector<int>& cpus, MachineInfo& machine) {
  constexpr int kMaxCaches = 8;
  std::set<std::string> counted_l3;
  for (const int cpu : cpus) {
    for (int index = 0; index < kMaxCaches; ++index) {
      const std::string folder = kCpuFolder + std::to_string(cpu) + "/cache/index" + std::to_string(index);
      const std::string level = TrimmedFile(folder + "/level");
      if (level.empty()) {
        break;
      }
      const int64_t bytes = SizeInBytes(TrimmedFile(folder + "/size"));
      const std::string type = TrimmedFile(folder + "/type");
      if (level == "1" && type != "Instruction") {
        machine.l1d_bytes = bytes;
      } else if (level == "2") {
        machine.l2_bytes = bytes;
      } else if (level == "3") {
        machine.l3_bytes = bytes;
        const bool is_new = counted_l3.insert(TrimmedFile(folder + "/shared_cpu_list")).second;
        machine.l3_total_bytes += is_new ? bytes : 0;
      }
    }
  }
}

void DescribeCores(MachineInfo& machine) {
  machine.logical_cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  std::set<std::string> packages;
  std::set<std::pair<std::string, std::string>> cores;
  const int64_t configured = ::sysconf(_SC_NPROCESSORS_CONF);
  for (int64_t cpu = 0; cpu < configured; ++cpu) {
    const std::string folder = kCpuFolder + std::to_string(cpu) + "/topology";
    const std::string package = TrimmedFile(folder + "/physical_package_id");
    if (!package.empty()) {  // an offline CPU has no topology
      packages.insert(package);
      cores.emplace(package, TrimmedFile(folder + "/core_id"));
    }
  }
  machine.sockets = std::max<int64_t>(1, static_cast<int64_t>(packages.size()));
  machine.physical_cores = cores.empty() ? machine.logical_cores : static_cast<int64_t>(cores.size());
}

void DescribeCpu(MachineInfo& machine) {
  const auto text = ReadFile("/proc/cpuinfo");
  const std::string cpuinfo = text.ok() ? *text : "";
  machine.cpu_model = ValueOf(cpuinfo, "model name", ':');
  if (machine.cpu_model.empty()) {
    machine.cpu_model = ValueOf(cpuinfo, "Model", ':');
  }
  const std::vector<std::string> flags = Split(ValueOf(cpuinfo, "flags", ':'), ' ');
  for (const IsaName& isa : kIsaNames) {
    machine.isa.*isa.flag = std::find(flags.begin(), flags.end(), isa.cpuinfo) != flags.end();
  }
}

void DescribeMemory(MachineInfo& machine) {
  constexpr double kKib = 1024;
  const auto text = ReadFile("/proc/meminfo");
  if (text.ok()) {
    machine.memory_bytes = static_cast<int64_t>(kKib * NumberAfter(*text, "MemTotal"));
    machine.memory_available_bytes = static_cast<int64_t>(kKib * NumberAfter(*text, "MemAvailable"));
  }
  const Cgroup cgroup = FindCgroup(::getpid(), "memory");
  const int64_t limit = MemoryLimitBytes(cgroup);
  if (limit > 0 && limit < machine.memory_bytes) {
    machine.memory_limit_bytes = limit;
    machine.memory_available_bytes =
        std::min(machine.memory_available_bytes, MemoryLeftBytes(cgroup).value_or(machine.memory_available_bytes));
  }
}

void DescribeSystem(MachineInfo& machine) {
  utsname names;
  if (::uname(&names) == 0) {
    machine.hostname = names.nodename;
    machine.kernel = names.release;
  }
  const auto release = ReadFile("/etc/os-release");
  const std::string quoted = release.ok() ? ValueOf(*release, "PRETTY_NAME", '=') : "";
  machine.os = quoted.size() >= 2 && quoted.front() == '"' ? quoted.substr(1, quoted.size() - 2) : quoted;
}

int64_t CoresAllowed(size_t affinity, double quota) {
  const auto cores = static_cast<int64_t>(std::max<size_t>(1, affinity));
  return quota > 0 ? std::clamp<int64_t>(std::llround(std::ceil(quota)), 1, cores) : cores;
}

}  // namespace

MemoryRoom FindMemoryRoom() {
  MachineInfo machine;
  DescribeMemory(machine);
  return {.total_bytes = machine.memory_limit_bytes > 0 ? machine.memory_limit_bytes : machine.memory_bytes,
          .free_bytes = machine.memory_available_bytes};
}

int64_t UsableCores() {
  return CoresAllowed(AffinityCpus().size(), CpuQuota(FindCgroup(::getpid(), "cpu")));
}

MachineInfo DescribeMachine(const Nvml* nvml) {
  MachineInfo machine;
  DescribeSystem(machine);
  DescribeCpu(machine);
  DescribeCores(machine);
  const std::vector<int> cpus = AffinityCpus();
  DescribeCaches(cpus, machine);
  machine.cpu_quota = CpuQuota(FindCgroup(::getpid(), "cpu"));
  machine.usable_cores = CoresAllowed(cpus.size(), machine.cpu_quota);
  DescribeMemory(machine);
  if (nvml != nullptr) {
    machine.gpu_driver = nvml->driver_version();
    machine.gpus = nvml->gpus();
  }
  return machine;
}

nlohmann::json ToJson(const MachineInfo& machine) {
  auto isa = nlohmann::json::array();
  for (const IsaName& name : kIsaNames) {
    if (machine.isa.*name.flag) {
      isa.push_back(name.cpuinfo);
    }
  }
  auto gpus = nlohmann::json::array();
  for (const GpuInfo& gpu : machine.gpus) {
    gpus.push_back({{"index", gpu.index}, {"name", gpu.name}, {"uuid", gpu.uuid}, {"memory_bytes", gpu.memory_bytes}});
  }
  return {{"hostname", machine.hostname},
          {"os", machine.os},
          {"kernel", machine.kernel},
          {"cpu_model", machine.cpu_model},
          {"sockets", machine.sockets},
          {"physical_cores", machine.physical_cores},
          {"logical_cores", machine.logical_cores},
          {"usable_cores", machine.usable_cores},
          {"cpu_quota", machine.cpu_quota},
          {"l1d_bytes", machine.l1d_bytes},
          {"l2_bytes", machine.l2_bytes},
          {"l3_bytes", machine.l3_bytes},
          {"l3_total_bytes", machine.l3_total_bytes},
          {"isa", std::move(isa)},
          {"memory_bytes", machine.memory_bytes},
          {"memory_available_bytes", machine.memory_available_bytes},
          {"memory_limit_bytes", machine.memory_limit_bytes},
          {"gpu_driver", machine.gpu_driver},
          {"gpus", std::move(gpus)}};
}

std::string DescribeIsa(const IsaFlags& isa) {
  std::vector<std::string> names;
  for (const IsaName& name : kIsaNames) {
    if (isa.*name.flag) {
      names.emplace_back(name.display);
    }
  }
  return names.empty() ? "none" : Join(names, " ");
}

}  // namespace assay::measure
