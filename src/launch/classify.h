// Why a worker ended, told from what its controller saw.
#pragma once

#include <string>

#include "base/subprocess.h"
#include "job/run_record.h"
#include "launch/memory_evidence.h"

namespace assay::launch {

/// What is known when the process has been reaped.
struct EndFacts {
  ProcessEnd process;
  bool interrupted = false;  ///< the user asked us to stop
  MemoryEvidence memory = {};
  std::string lost = {};  ///< why nobody saw the process end; empty: `process` is its end
};

/// Sets `end`, `reason` and `signal` of `record` from `facts`, its events and its stderr tail.
void Classify(const EndFacts& facts, job::RunRecord& record);

}  // namespace assay::launch
