// How the ranks of a plan share its work.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "job/parallel_plugin.h"

namespace assay::job {

/// What every kind of plan has. A rank learns which one it is from its environment (RANK, LOCAL_RANK, WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT), which must agree with number_ranks.
struct ParallelPlan {
  std::string plugin = "torch_ddp";  ///< a name of Plugins()
  PluginKnobs knobs;
  int64_t number_ranks = 1;
  /// Groups of as many ranks each that a launcher starts, each on a machine of its own, or on one machine as if each
  /// had one. Ranks go by what they find: which of them share a machine they tell each other.
  int64_t number_nodes = 1;
  double timeout_seconds = 30;  ///< without progress in a collective, after which the run ends
  std::string trace_dir;        ///< where each rank writes its trace (job/trace_file.h); empty: none
};

/// Ranks that read different rows or images: number_ranks without tensor and pipeline ranks.
inline int64_t DataRanks(const ParallelPlan& plan) {
  return plan.number_ranks / (plan.knobs.tp_size * plan.knobs.pp_size);
}

/// Whether the plan's gradients and weights are spread over ranks by a plugin. On one rank torch_ddp has nothing to do.
inline bool IsOverRanks(const ParallelPlan& plan) {
  return plan.number_ranks > 1 || plan.plugin != ParallelPlan{}.plugin;
}

/// What of a model is divided among tensor ranks and pipeline stages.
struct DivisibleModel {
  int64_t attention_heads = 0;
  int64_t key_value_heads = 0;  ///< where they are fewer; 0: as many
  int64_t intermediate_features = 0;
  int64_t experts = 0;  ///< where ranks have some of them, whole
  int64_t layers = 0;
};

/// Whether the plan's tensor ranks and stages divide the model: what depends on the model beside the plan itself. One
/// line.
Status CheckModelDivides(const ParallelPlan& plan, const DivisibleModel& model);

}  // namespace assay::job
