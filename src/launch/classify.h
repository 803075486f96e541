// Why a worker ended, told from what its controller saw.
#pragma once

#include <string>

#include "base/subprocess.h"
#include "job/run_record.h"

namespace assay::launch {

/// What is known when the process has been reaped.
struct EndFacts {
  ProcessEnd process;
  bool interrupted = false;           ///< the user asked us to stop
  bool kernel_out_of_memory = false;  ///< the kernel's out-of-memory killer struck during the run
};

/// Sets `end`, `reason` and `signal` of `record` from `facts`, its events and its stderr tail.
void Classify(const EndFacts& facts, job::RunRecord& record);

}  // namespace assay::launch
