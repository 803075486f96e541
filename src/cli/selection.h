// Which measurements of a store a verb works on: those of a space, or those of an experiment.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "report/result_set.h"
#include "samplestore/measurement.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

struct Selection {
  std::string space;       ///< path of a YAML file, or empty
  std::string experiment;  ///< id, or empty: all
  bool all = false;        ///< with neither of them: all that the store has
  std::string store;
  std::string host;                   ///< only what was measured on it; empty: all
  std::vector<std::string> machines;  ///< only what machines of these kinds measured; empty: all
  std::string commit;  ///< only what this commit of the programs measured, by its first characters; empty: all
};

struct Selected {
  std::vector<samplestore::Measurement> measurements;
  int64_t planned_points = 0;  ///< of the space, times experiments; 0: there is no space
  /// Points of the space without a measurement among these, where the space is small enough to be gone through.
  std::vector<report::UnmeasuredPoint> unmeasured;
  std::string title;  ///< of the space; else the experiment
  std::string description;
};

/// SPACE.yaml, --experiment, --store, --host, --commit.
void AddSelectionOptions(CLI::App& app, Selection& selection);

/// An error where it names nothing.
Status CheckSelection(const Selection& selection);

/// Of a space: what explore::MeasurementsOf() says; else all of the experiment. A host or commit that measured nothing
/// of it is an error that names those that did.
Result<Selected> Select(const Selection& selection, bool with_series);

/// Those of the selection's experiment, or all where it names none, in the order of their arrival, few of them in
/// memory at a time. `before`: only those that arrived before that one; 0: all. Its errors are those of Select(), and
/// the first of `visit`.
Status ForEachOfExperiment(const Selection& selection, samplestore::SampleStore& store, int64_t before,
                           bool with_series, const std::function<Status(const samplestore::Measurement&)>& visit);

struct Newest {
  std::vector<samplestore::Measurement> measurements;  ///< at most as many as asked for, in the order of their arrival
  int64_t count = 0;                                   ///< of all
};

/// The newest `limit` of the same, without their series.
Result<Newest> NewestOfExperiment(const Selection& selection, samplestore::SampleStore& store, int64_t limit);

}  // namespace assay::cli
