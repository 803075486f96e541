// The machine a measurement was made on.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measure/nvml.h"

namespace assay::measure {

struct IsaFlags {
  bool avx2 = false;
  bool fma = false;
  bool avx512f = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_bf16 = false;
};

/// Plain data; 0 and empty where the system does not tell.
struct MachineInfo {
  std::string hostname;
  std::string os;      ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  ///< "6.1.0-18-amd64"

  std::string cpu_model;
  int64_t sockets = 0;
  int64_t physical_cores = 0;
  int64_t logical_cores = 0;   ///< online
  int64_t usable_cores = 0;    ///< that this process may use: affinity mask and CPU quota; at least 1
  double cpu_quota = 0;        ///< cores a cgroup allows; 0: no limit
  int64_t l1d_bytes = 0;       ///< of one core
  int64_t l2_bytes = 0;        ///< of one core (or those that share it)
  int64_t l3_bytes = 0;        ///< of one cache, not the sum over sockets
  int64_t l3_total_bytes = 0;  ///< of all the caches that the usable cores have
  IsaFlags isa;

  int64_t memory_bytes = 0;
  int64_t memory_available_bytes = 0;
  int64_t memory_limit_bytes = 0;  ///< of the tightest cgroup; 0: none below memory_bytes

  std::string gpu_driver;
  std::vector<GpuInfo> gpus;
};

/// Looks at this machine now. `nvml` may be null.
MachineInfo DescribeMachine(const Nvml* nvml = nullptr);

/// Field names as above; flags as a list of names under "isa".
nlohmann::json ToJson(const MachineInfo& machine);
/// "AVX2 FMA AVX-512 AVX-512-BF16", or "none".
std::string DescribeIsa(const IsaFlags& isa);

/// What a process may use of this machine's memory: the tighter of the machine and its control group.
struct MemoryRoom {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;  ///< files in the page cache count as free
};
MemoryRoom FindMemoryRoom();

/// Logical cores that this process may use, by its affinity mask and its cgroup's quota; at least 1.
int64_t UsableCores();

}  // namespace assay::measure
