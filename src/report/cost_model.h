// What a step costs at any batch size: a line through the measurements of each series, and what follows from the lines.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/linear_fit.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// Configurations that differ in the batch size (experiment::Role::kBatchSize) alone, with t = a + b * batch through
/// the means of their runs.
struct CostLine {
  std::string label;  ///< what tells the series apart: "plugin gemini"; empty when there is only one
  std::vector<const Configuration*> points;
  measure::LinearFit step_seconds;
  std::optional<measure::LinearFit> memory_gib;  ///< of peak tensor memory; nothing without two sizes that have it
  size_t sizes = 0;  ///< batch sizes that the step times stand on; two prove nothing about a line
  double smallest_batch = 0;
  double largest_batch = 0;  ///< measured

  /// Samples of a step over its batch size: data ranks, times the batches that are accumulated.
  double samples_per_batch = 1;

  /// Samples per second that large batches approach; infinite when a larger batch costs nothing.
  double limit_throughput() const { return samples_per_batch / step_seconds.slope; }
  /// Seconds of a step for each of samples_per_batch: what compares series whose steps train different numbers.
  measure::LinearFit share_seconds() const;
};

/// One line for each series with valid runs at two batch sizes or more, in the order of the result set. The lines keep
/// pointers into `results`.
std::vector<CostLine> FitCostLines(const ResultSet& results, const std::vector<Metric>& metrics);

/// Below so many batch sizes a line proves nothing: through any two points there is one.
inline constexpr size_t kFewestForFit = 3;

/// A batch size from which on one line costs less than another.
struct Crossing {
  const CostLine* winner = nullptr;
  const CostLine* loser = nullptr;
  double batch_size = 0;
};

/// All crossings within twice what was measured, of lines with kFewestForFit sizes that were measured on as much of
/// machines (GPUs, ranks, nodes), and under the same conditions (report/conditions.h).
std::vector<Crossing> FindCrossings(const ResultSet& results, const std::vector<CostLine>& lines);

/// The step time of a point as the line through the other batch sizes of its series has it.
struct Foretold {
  const Configuration* point = nullptr;
  double step_seconds = 0;
  size_t sizes = 0;  ///< that it was foretold from
};

/// Of lines with kFewestForFit sizes each point; nothing of the others.
std::vector<Foretold> ForetellByOthers(const ResultSet& results, const std::vector<CostLine>& lines,
                                       const std::vector<Metric>& metrics);

/// What is asked of Recommend().
struct Demand {
  std::optional<double> batch_size;  ///< nothing: the best one
  std::optional<double> memory_gib;  ///< of tensors; nothing: no limit
  double extrapolation = 2;          ///< batch sizes up to so many times the largest measured one are trusted
  /// Why the experiment's rules forbid the line's point of a batch size; empty: they do not. Null: none is forbidden.
  std::function<std::string(const CostLine& line, double batch_size)> forbidden;
};

/// What a line says about a demand.
struct Prediction {
  const CostLine* line = nullptr;
  double batch_size = 0;
  double step_seconds = 0;
  double samples_per_second = 0;
  std::optional<double> memory_gib;
  std::string objection;      ///< why it cannot be had: "needs 5.1 GiB at batch size 64"; empty: it can
  bool extrapolated = false;  ///< beyond the sizes that were measured
};

/// A prediction for each line: those that can be had first, the fastest of them first. Without a batch size each line
/// is taken at the largest whole one that its memory and the rules allow.
std::vector<Prediction> Recommend(const std::vector<CostLine>& lines, const Demand& demand);

}  // namespace assay::report
