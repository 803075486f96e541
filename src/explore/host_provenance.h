// Where and with what a measurement was made.
#pragma once

#include <map>
#include <string>

#include "job/run_record.h"

namespace assay::explore {

/// host, os, kernel, cpu, cpu_features, cores, memory, gpu, gpu_driver, version, commit. Looks for GPUs only if asked.
std::map<std::string, std::string> HostProvenance(bool with_gpus);

/// What the worker said of itself: libtorch, device, threads, isa, weights.
std::map<std::string, std::string> WorkerProvenance(const job::RunRecord& record);

}  // namespace assay::explore
