// What the fine-tuning experiments have in common, as the reference's SFTTrainer actuator has it: properties, rules,
// targets, the plan, and what is measured of a run. An experiment is a FineTuningDefinition: what it has otherwise.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/token_file.h"
#include "experiment/experiment.h"
#include "experiment/planned_property.h"

namespace assay::experiment {

using TuneProperty = Planned<job::TunePlan>;

/// The properties that all have, required ones first. What this version cannot do is in the domains, and not in
/// `supported`.
const std::vector<TuneProperty>& FineTuningProperties();
const std::vector<TargetSpec>& FineTuningTargets();
const ReportSections& FineTuningReport();
const std::vector<PartsChart>& FineTuningCharts();

/// The targets of FineTuningTargets(). `record` ended as done; `plan` is what the worker carried out.
/// kFailedPrecondition when a loss is not finite: the point is invalid.
Result<Measured> MeasureFineTuning(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record);

/// What experiments with a LoRA adapter have beside FineTuningProperties(), and what they fix.
std::vector<TuneProperty> LoraProperties();
void MakeLora(const space::Entity& point, job::TunePlan& plan);

struct FineTuningDefinition {
  std::string id;
  std::string description;
  std::string method;        ///< as Declaration::method
  bool is_baseline = false;  ///< of the fine-tuning experiments
  /// Beside FineTuningProperties(); one of a name of theirs stands in its place (see Changed).
  std::vector<TuneProperty> properties = {};
  /// What the experiment fixes, or makes of several properties, after all properties have been taken.
  void (*specialize)(const space::Entity& point, job::TunePlan& plan) = nullptr;
  /// A rule beside CheckFineTuningRules: why a point cannot be; empty: it can.
  std::string (*rule)(const space::Entity& point) = nullptr;

  Runs runs = {};
  /// What runs must have done beside what `measure` asks for, as Experiment::Measure refuses them.
  Status (*gate)(const RunPlan& plan, std::span<const job::RunRecord> runs) = nullptr;
  /// In place of FineTuningTargets() and of MeasureFineTuning() of the first run; the two go together.
  std::vector<TargetSpec> targets = {};
  Result<Measured> (*measure)(const space::Entity& point, const RunPlan& plan,
                              std::span<const job::RunRecord> runs) = nullptr;
  ReportSections report = FineTuningReport();
};

class FineTuningExperiment : public Experiment {
 public:
  explicit FineTuningExperiment(FineTuningDefinition definition);

  Verdict Check(const space::Entity& point) const override;
  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override;
  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override;
  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override;
  Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                           std::span<const job::RunRecord> runs) const override;

 private:
  Result<job::TunePlan> TrainingOf(const space::Entity& point, const PlanContext& context) const;

  FineTuningDefinition definition_;
  std::vector<TuneProperty> properties_;
};

/// The rules of the reference that make a complete point invalid before anything is launched.
Verdict CheckFineTuningRules(const space::Entity& point);

/// Why the properties of ranks cannot be had as the complete point has them; empty: they can.
std::string CheckSpread(const space::Entity& point);
/// kFailedPrecondition where the point names layers for FSDP that a model of `family` does not have.
Status CheckWrapped(const space::Entity& point, const std::string& family);
/// Ranks, plugin and a rank's part of the batch: DDP is torch_ddp, FSDP the plugin of its sharding strategy.
Status SpreadOverRanks(const space::Entity& point, job::TunePlan& plan);

/// OutOfMemory where no batch could make the model fit a machine that has `memory_bytes` for it. On a GPU nothing is
/// asked.
Status CheckModelFits(const space::Entity& point, const job::TunePlan& plan, const PlanContext& context,
                      int64_t memory_bytes);

/// How the reference counts the tokens of a run: those of rows [first_row, end_row) in file order, each cut to
/// `max_length`; beyond the last row it goes on with the first one.
int64_t FileOrderTokens(const data::TokenFile& file, int64_t first_row, int64_t end_row, int64_t max_length);

}  // namespace assay::experiment
