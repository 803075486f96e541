// What the two benchmarks of checkpoints have in common: where, by whom and how often, and what is measured of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/planned_property.h"
#include "job/checkpoint_plan.h"

namespace assay::experiment {

using CheckpointProperty = Planned<job::CheckpointPlan>;

/// A library that saves and loads.
struct CheckpointClient {
  const char* name;
  bool on_disk;
  bool in_buckets;  ///< s3:// alone
  bool is_ours = false;
  bool is_supported = true;
};

/// What one of them has of its own.
struct CheckpointDefinition {
  std::string id;
  std::string description;
  std::vector<CheckpointClient> clients;
  const char* repeats = "";                         ///< the property that says how often
  std::vector<CheckpointProperty> properties = {};  ///< before those that both have
  /// The rest of the plan; an error is the point's.
  Status (*specialize)(const space::Entity& point, const PlanContext& context, job::CheckpointPlan& plan) = nullptr;
  std::vector<TargetSpec> targets = {};  ///< beside those that both have
  /// Their values, in `values`, of which those that both have are there.
  void (*measure)(const space::Entity& point, const job::RunRecord& run, Measured& values) = nullptr;
  ReportSections report = {};
};

class CheckpointExperiment : public Experiment {
 public:
  explicit CheckpointExperiment(CheckpointDefinition definition);

  Verdict Check(const space::Entity& point) const override;
  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override;
  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override;
  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override;
  Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                           std::span<const job::RunRecord> runs) const override;

  /// Without the program that carries it out.
  Result<job::CheckpointPlan> PlanOf(const space::Entity& point, const PlanContext& context = {}) const;

 private:
  const CheckpointClient& ClientOf(const space::Entity& point) const;

  CheckpointDefinition definition_;
};

/// Of `field` a property: its value goes there.
template <auto kField>
Status CheckpointField(const space::Value& value, job::CheckpointPlan& plan) {
  return Field<job::CheckpointPlan, kField>(value, plan);
}

const std::vector<TargetSpec>& SharedCheckpointTargets();
/// Their values. An error: not all saves or loads of the plan were seen, or nobody compared what was loaded.
Result<Measured> MeasureTransfers(const job::CheckpointPlan& plan, const job::RunRecord& run);

}  // namespace assay::experiment
