// What is measured of the steps of a run alike, whatever is trained.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "job/event.h"
#include "job/run_record.h"

namespace assay::experiment {

/// One field of every row, as numbers.
template <typename Row, typename T>
std::vector<double> Column(const std::vector<Row>& rows, T Row::* field) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const Row& row : rows) {
    values.push_back(static_cast<double>(row.*field));
  }
  return values;
}

/// "the loss of step 2 is nan: the run diverged", of the first step whose loss, or whose gradients though it was not
/// skipped, are not finite; that every step was skipped, so that nothing was trained; else empty.
std::string DescribeDivergence(const std::vector<job::Step>& steps);

/// When, on the clock of the samples, the worker said that it was loaded; 0 where it did not. What it says of loading
/// itself begins only with its main().
double LoadedAt(const job::RunRecord& record);

/// step_seconds_median, _mad and _p90 of the `measured` steps (one at least), and first_step_seconds of `all`.
void AddStepTimes(const std::vector<job::Step>& all, const std::vector<job::Step>& measured, Measured& values);

/// kInternal for the first value that is not finite, which is no measurement.
Status CheckFinite(const Measured& values);

/// The units of those of `targets` that have a value and a unit.
void AddUnits(const std::vector<TargetSpec>& targets, Measured& values);

}  // namespace assay::experiment
