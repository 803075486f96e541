// What a worker told of a connector test, by its steps, and whether it is of the whole test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/connector_plan.h"
#include "job/event.h"
#include "job/run_record.h"

namespace assay::experiment {

/// A step with what was told within it.
struct ConnectorPart {
  job::ConnectorStep step;
  double end_s = 0;         ///< on the clock of the samples
  double first_step_s = 0;  ///< likewise, of its first training step
  std::vector<job::Step> steps{};
  std::vector<job::RankStep> rank_steps{};
  std::vector<job::Checkpointed> checkpoints{};
  std::optional<job::Resumed> resumed{};
  std::optional<job::DataUse> use{};

  double begin_s() const { return end_s - step.seconds; }
};

/// By the name of the step.
using ConnectorParts = std::map<std::string, ConnectorPart>;

ConnectorParts ConnectorPartsOf(const job::RunRecord& run);

/// Whether all was done that the plan asks for: every step told of, every row converted and streamed once, every
/// training step made, and a resume that went on from the last checkpoint that was left. kInternal names what is not
/// so.
Status CheckConnectorParts(const job::ConnectorPlan& plan, const ConnectorParts& parts);

/// Largest difference of the losses of the steps that both made; not a number where one of these is none.
double LossDifference(const std::vector<job::Step>& one, const std::vector<job::Step>& other);

}  // namespace assay::experiment
