// The ranks of a plan that run on this machine: started, sampled, watched to their end.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/plan.h"
#include "launch/launcher.h"
#include "launch/node_report.h"
#include "launch/rank_group.h"
#include "measure/sampler.h"
#include "measure/standstill.h"

namespace assay::launch {

/// Which ranks run here, and what of their environment differs.
struct NodeShare {
  int first_rank = 0;
  int ranks = 1;
  int first_local_rank = 0;  ///< of all ranks of this machine, which others may have started, the first that is ours
  int ranks_of_machine = 0;  ///< 0: no others
  /// What tells a rank, by its number among all, that it is that; nothing: our own environment says so.
  std::function<std::map<std::string, std::string>(int rank)> rank_variables = {};
};

/// Of the GPUs that are visible those of `ranks` ranks from `first_local_rank` on, by NVML's number: rank i of this
/// machine has the i-th.
std::vector<int> GpusOf(int first_local_rank, int ranks, const std::vector<measure::GpuInfo>& gpus);

/// Start, Wait, then Report, from one thread. Ranks that still run at its end are killed.
class NodeRun {
 public:
  /// All must outlive this object.
  NodeRun(const job::Plan& plan, NodeShare share, const LaunchOptions& options);

  /// Starts `worker` with `--plan plan_file` for each rank.
  Status Start(const std::string& worker, const std::string& plan_file);
  /// Blocks until every rank has been reaped; events are those of the first rank here.
  Status Wait();
  /// From any thread, once Start has returned.
  void Kill(int signal) { ranks_.Kill(signal); }
  NodeReport Report();

 private:
  const job::Plan& plan_;
  const NodeShare share_;
  const LaunchOptions& options_;
  measure::Sampler sampler_;
  RankGroup ranks_;
  int64_t kills_before_ = 0;
  MemoryEvidence memory_;
  double suspended_before_ = 0;
  measure::Standstill standstill_;  ///< of the time before the first sample and of suspensions
};

}  // namespace assay::launch
