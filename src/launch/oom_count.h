// How often the kernel's out-of-memory killer has struck where our workers run.
#pragma once

#include <cstdint>
#include <string>

namespace assay::launch {

/// Processes killed so far in our control group (cgroup v2 memory.events, v1 memory.oom_control), or on the whole
/// machine (/proc/vmstat) where the group does not count. A rise during a run that ended by SIGKILL says why. `root` is
/// put before every path, for tests.
int64_t OutOfMemoryKills(const std::string& root = "");

}  // namespace assay::launch
