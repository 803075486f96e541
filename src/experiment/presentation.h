// How what an experiment measures is shown to people: the experiment declares it, reports and progress displays follow.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "space/entity.h"

namespace assay::experiment {

/// What a property is to whoever compares points.
enum class Role {
  kNone,
  kModel,      ///< what is trained; its contents are told apart
  kDataset,    ///< what it is trained on, likewise
  kSeries,     ///< what is compared: colours of charts, each value against a baseline
  kBatchSize,  ///< samples of a step: charts and cost lines run over it
  kLength,     ///< the size of a sample: charts run over it
  kGpus,       ///< GPUs that the point uses; 0: none
  kMachine,    ///< how much else of machines it uses: with kGpus what cost lines must agree in to be compared
  kTimeLimit,  ///< seconds after which a run ends by itself; 0 or less: never
};

/// How a property stands in tables, charts and findings.
struct Shown {
  std::string label = {};      ///< what people call it; empty: its name
  bool stands_alone = false;   ///< its values need no label before them: "bfloat16", but "batch size 4"
  Role role = Role::kNone;     ///< one property of an experiment has it; kMachine: any number
  space::Value baseline = {};  ///< of kSeries: the value that others are held against; None: the first
};

/// What a target is to whoever compares points.
enum class Quantity {
  kThroughput,
  kStepSeconds,
  kPeakTensorMemory,
  kPeakResidentMemory,
  kCpu,
  kGpu,
  kLoss,
  kModelFlops,
  kHardwareFlops,
  kEnergyEfficiency,  ///< work for each joule: more is better
  kRuntime,
  kReachedTflops,  ///< what a run reached of RunPlan::ceiling
  kSteps,          ///< optimiser steps that the values are of
  kSamples,        ///< samples of these steps
  kSampleRate,     ///< samples a second, where kSamples is not measured: with kSampleSeconds their number
  kSampleSeconds,  ///< the time of kSampleRate
  kRealTokens,     ///< tokens fed
  kPaddedTokens,   ///< padding that would have been fed with them
  kOther,          ///< nothing that reports know; shown where a result has nothing else
};

/// A column of a table of parts.
struct BreakdownColumn {
  std::string label;
  std::string unit;  ///< of the column
  std::string target;
  double factor = 1;             ///< from the target's unit to the column's
  std::string relative_to = {};  ///< not empty: the value is by how many percent `target` differs from this one
};

/// A section of the report with a table: where something goes, a row for each configuration.
struct Breakdown {
  std::string id;  ///< of the section, unique over all experiments
  std::string title;
  std::string text;
  std::string target;  ///< without which a configuration has no row
  std::vector<BreakdownColumn> columns;
};

/// A chart of the parts of a breakdown, in a file of the experiment's own. Its data set "parts" has a record for each
/// configuration and column: `label` (the configuration), `part` (the column's label), `order` (its place), `value` and
/// `i` (the configuration's number), the configuration's coordinates as `a_PROPERTY`, and its metrics as `m_METRIC`.
struct PartsChart {
  std::string id;    ///< unique over all experiments
  std::string view;  ///< overview | explore | scaling | predicted | run
  std::string title;
  std::string text;
  std::string breakdown;  ///< its id
  std::string spec;       ///< Vega-Lite, JSON; without data
};

/// A row that somebody published, and the point that it was measured at.
struct PublishedRow {
  space::Entity point;             ///< the properties by which ours is found
  std::vector<std::string> cells;  ///< the first names the row
};

/// A column of ours beside it: the mean of a target over a configuration's runs, times `factor`.
struct OwnColumn {
  std::string target;
  double factor = 1;
};

/// Figures that somebody else published of the experiment that one of ours repeats: shown beside ours, never mixed with
/// it.
struct PublishedFigures {
  std::string title;
  std::string note;                  ///< what it was measured on, and what to keep in mind
  std::vector<std::string> columns;  ///< of `rows`, then of `own`
  std::vector<PublishedRow> rows;
  std::vector<OwnColumn> own;
};

/// Fixed costs of a step on other hardware, and a step of the baseline there that tells how fast that hardware was.
struct PublishedFixedCosts {
  std::string property;  ///< that names who is compared: "plugin"
  std::string baseline;  ///< its value: "torch_ddp"
  double baseline_batch_size = 0;
  double baseline_step_seconds = 0;             ///< published, at that batch size
  std::map<std::string, double> fixed_seconds;  ///< published, by value of `property`
};

/// A target that was foretold, and the one that it foretells: both in one unit.
struct Prediction {
  std::string title;  ///< "Peak tensor memory"
  std::string text;   ///< how, and of what
  std::string target;
  std::string predicted;
  std::string unit;  ///< for people
  double factor = 1;
};

/// What a report of the experiment's points has beside what every report has.
struct ReportSections {
  std::string loss_of = {};  ///< what a step's loss is the mean of: "images"; empty: it has none
  std::vector<Breakdown> breakdowns = {};
  std::vector<PartsChart> charts = {};
  std::vector<Prediction> predictions = {};
  std::vector<PublishedFigures> published = {};
  std::optional<PublishedFixedCosts> fixed_costs = {};
};

}  // namespace assay::experiment
