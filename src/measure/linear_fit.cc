#include "measure/linear_fit.h"

#include <cmath>
#include <limits>

namespace assay::measure {
namespace {

Interval Around(double value, double half_width) {
  return {value - half_width, value + half_width};
}

}  // namespace

std::optional<LinearFit> FitLine(std::span<const double> x, std::span<const double> y, double confidence) {
  const double n = static_cast<double>(x.size());
  const double mean_x = Mean(x);
  const double mean_y = Mean(y);
  double sxx = 0;
  double sxy = 0;
  double syy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sxx += (x[i] - mean_x) * (x[i] - mean_x);
    sxy += (x[i] - mean_x) * (y[i] - mean_y);
    syy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (x.size() < 2 || sxx == 0) {
    return std::nullopt;
  }
  LinearFit fit;
  fit.slope = sxy / sxx;
  fit.intercept = mean_y - fit.slope * mean_x;
  double residual = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    residual += (y[i] - fit.At(x[i])) * (y[i] - fit.At(x[i]));
  }
  fit.r_squared = 1 - residual / syy;
  double slope_half = std::numeric_limits<double>::infinity();
  double intercept_half = slope_half;
  if (x.size() > 2) {
    const double t = StudentQuantile(0.5 + confidence / 2, n - 2);
    const double sigma = std::sqrt(residual / (n - 2));
    slope_half = t * sigma / std::sqrt(sxx);
    intercept_half = t * sigma * std::sqrt(1 / n + mean_x * mean_x / sxx);
  }
  fit.slope_interval = Around(fit.slope, slope_half);
  fit.intercept_interval = Around(fit.intercept, intercept_half);
  return fit;
}

std::optional<Crossover> CrossoverOf(const LinearFit& first, const LinearFit& second) {
  const double x = (second.intercept - first.intercept) / (first.slope - second.slope);
  if (!std::isfinite(x) || x <= 0) {
    return std::nullopt;
  }
  return Crossover{x, second.slope < first.slope};
}

}  // namespace assay::measure
