// What one machine saw of the ranks that ran there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "job/run_record.h"
#include "launch/memory_evidence.h"

namespace assay::launch {

/// One rank. Its record's end is not classified.
struct RankReport {
  job::RunRecord record;
  ProcessEnd end;
  double end_time = 0;  ///< when it said that it had ended, or else was reaped; seconds on the clock of its events
  std::string lost;     ///< why nobody saw its end; one line; empty: it was seen

  /// Whether it carried out its plan.
  bool succeeded() const { return end.exited && end.exit_code == 0; }
};

struct NodeReport {
  int first_rank = 0;
  std::vector<RankReport> ranks;
  MemoryEvidence memory;                               ///< without peak_bytes
  std::map<std::string, std::vector<double>> samples;  ///< of all its ranks together, as measure::ToColumns has them
  double stood_still_seconds = 0;
  double cpu_wait_seconds = 0;
  std::map<std::string, std::string> facts;  ///< DescribeNode(); empty: this machine
};

}  // namespace assay::launch
