// Where and with what a measurement was made.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "job/run_record.h"
#include "measure/machine.h"

namespace assay::explore {

using ProvenanceMap = std::map<std::string, std::string>;

/// This machine and these programs, looked at once for many points.
class Host {
 public:
  /// Takes milliseconds; tens of them where there are GPUs to be asked.
  static Host Look(bool look_for_gpus);

  /// The commit of a build with uncommitted changes ends with when its worker was built.
  /// host, os, kernel, cpu, cpu_features, cores, memory, gpu, gpu_driver, machine (the kind, as
  /// samplestore::MachineKind says), version, commit, libtorch. A run on the CPU has nothing of the GPUs.
  const ProvenanceMap& provenance(bool uses_gpus) const { return uses_gpus ? with_gpus_ : without_gpus_; }

 private:
  ProvenanceMap without_gpus_;
  ProvenanceMap with_gpus_;
};

/// How many cores the machine lets a process have: "2", or "1.1" where a quota ends within a core, so that machines
/// with other quotas are of other kinds.
std::string CoresText(const measure::MachineInfo& machine);

/// What of the environment changes how fast a run is: "threads 2, 2 points at once, OMP_WAIT_POLICY=passive", or
/// "default". `threads` 0: not bounded.
std::string DescribeSettings(int64_t threads, int points_at_once);

/// What the worker said of itself: device, threads, isa, weights, model_type; of several ranks also communicator.
ProvenanceMap WorkerProvenance(const job::RunRecord& record);

}  // namespace assay::explore
