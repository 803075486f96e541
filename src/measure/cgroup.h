// Control groups, versions 1 and 2: what limits a process and what its group uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure {

/// Where a controller's files of a process are.
struct Cgroup {
  std::vector<std::string> folders;  ///< its own group's first, then those that contain it; empty: there is none
  bool version2 = false;
};

/// The cgroup that governs `controller` ("memory", "cpu"), out of the texts of /proc/PID/cgroup and
/// /proc/PID/mountinfo. Folders that do not exist here, as in a container, are left out.
Cgroup FindCgroup(std::string_view proc_cgroup, std::string_view mountinfo, std::string_view controller);
Cgroup FindCgroup(pid_t pid, std::string_view controller);

/// The tightest memory limit of the group and those above it; 0: none.
int64_t MemoryLimitBytes(const Cgroup& memory);
/// Cores that the tightest CPU quota allows; 0: no limit.
double CpuQuota(const Cgroup& cpu);
/// What the group and those above it leave of their limits, of which files in memory can be given back: the least;
/// nothing where none has a limit. Groups beside this one use up what an upper one allows.
std::optional<int64_t> MemoryLeftBytes(const Cgroup& memory);
/// The file that holds the group's memory in use; empty: none.
std::string MemoryUsageFile(const Cgroup& memory);

}  // namespace assay::measure
