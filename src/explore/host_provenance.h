// Where and with what a measurement was made.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "job/run_record.h"

namespace assay::explore {

using ProvenanceMap = std::map<std::string, std::string>;

/// This machine and these programs, looked at once for many points.
class Host {
 public:
  /// Takes milliseconds; tens of them where there are GPUs to be asked.
  static Host Look(bool look_for_gpus);
  /// What a machine says of itself, as launch::DescribeNode() has it.
  static Host Of(ProvenanceMap facts);

  /// The commit of a build with uncommitted changes ends with when its worker was built.
  /// host, os, kernel, cpu, cpu_features, cores, memory, gpu, gpu_driver, machine (the kind, as
  /// samplestore::MachineKind says), version, commit, libtorch. A run on the CPU has nothing of the GPUs.
  const ProvenanceMap& provenance(bool uses_gpus) const { return uses_gpus ? with_gpus_ : without_gpus_; }

 private:
  ProvenanceMap without_gpus_;
  ProvenanceMap with_gpus_;
};

/// What of the environment changes how fast a run is: "threads 2, 2 points at once, OMP_WAIT_POLICY=passive", or
/// "default". `threads` 0: not bounded.
std::string DescribeSettings(int64_t threads, int points_at_once);

/// What the machine where rank 0 ran says of itself, if that may not be this one; and the worker: device, threads, isa,
/// weights, model_type; of several ranks also communicator.
ProvenanceMap WorkerProvenance(const job::RunRecord& record);

}  // namespace assay::explore
