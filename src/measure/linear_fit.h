// Straight lines through timings: what a step costs at any batch, and where one line overtakes another.
#pragma once

#include <optional>
#include <span>

#include "measure/statistics.h"

namespace assay::measure {

/// y = intercept + slope * x by ordinary least squares, with Student intervals of both (infinite below three points).
/// For the seconds of a step over its batch size the intercept is what a step costs however small the batch, and
/// 1 / slope the samples per second that large batches approach.
struct LinearFit {
  double intercept = 0;
  double slope = 0;
  Interval intercept_interval;
  Interval slope_interval;
  double r_squared = 0;  ///< 1 for a perfect line; NaN when all y are equal

  double At(double x) const { return intercept + slope * x; }
};

/// Nothing for fewer than two different x. `x` and `y` are of equal length.
std::optional<LinearFit> FitLine(std::span<const double> x, std::span<const double> y, double confidence = 0.95);

/// The x > 0 at which the lines meet, with the one that is lower beyond it. Nothing when they meet at no positive x.
struct Crossover {
  double x = 0;
  bool second_is_lower_beyond = false;
};
std::optional<Crossover> CrossoverOf(const LinearFit& first, const LinearFit& second);

}  // namespace assay::measure
