// What a machine is, and which programs of ours it has.
#pragma once

#include <map>
#include <string>

#include "measure/machine.h"
#include "measure/nvml.h"

namespace assay::launch {

/// Of our programs: a build with uncommitted changes ends with when its worker was built.
std::string OwnCommit();

/// How many cores the machine lets a process have: "2", or "1.1" where a quota ends within a core, so that machines
/// with other quotas are of other kinds.
std::string CoresText(const measure::MachineInfo& machine);

/// host, os, kernel, cpu, cpu_features, cores, memory, version, commit (OwnCommit()), libtorch; where `nvml` shows
/// visible GPUs also gpu and gpu_driver. Takes milliseconds.
std::map<std::string, std::string> DescribeNode(const measure::Nvml* nvml);

}  // namespace assay::launch
