#include "measure/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::measure {
namespace {

constexpr double kConfidence = 0.95;

double Square(double value) {
  return value * value;
}

/// Satterthwaite's degrees of freedom of a sum of means.
double FreedomOfSum(std::span<const UncertainMean> means) {
  double variance = 0;
  double weighted = 0;
  for (const UncertainMean& mean : means) {
    const double of_mean = Square(mean.standard_error);
    variance += of_mean;
    weighted += Square(of_mean) / mean.degrees_of_freedom;
  }
  return weighted > 0 ? Square(variance) / weighted : std::numeric_limits<double>::infinity();
}

double ErrorOfSum(std::span<const UncertainMean> means) {
  double variance = 0;
  for (const UncertainMean& mean : means) {
    variance += Square(mean.standard_error);
  }
  return std::sqrt(variance);
}

}  // namespace

Difference TestAgainstZero(const UncertainMean& mean) {
  Difference result{.difference = mean.mean, .interval = {mean.mean, mean.mean}, .p_value = mean.mean == 0 ? 1.0 : 0.0};
  // Values without any spread differ for certain, or not at all.
  if (mean.standard_error > 0) {
    const double half_width = StudentQuantile(0.5 + kConfidence / 2, mean.degrees_of_freedom) * mean.standard_error;
    result.interval = {mean.mean - half_width, mean.mean + half_width};
    result.p_value = StudentTwoSided(mean.mean / mean.standard_error, mean.degrees_of_freedom);
  }
  return result;
}

Difference CompareMeans(const UncertainMean& first, const UncertainMean& second) {
  const UncertainMean both[] = {first, second};
  return TestAgainstZero(
      {.mean = second.mean - first.mean, .standard_error = ErrorOfSum(both), .degrees_of_freedom = FreedomOfSum(both)});
}

UncertainMean MeanOfMeans(std::span<const UncertainMean> means) {
  const auto count = static_cast<double>(means.size());
  const double sum = std::accumulate(means.begin(), means.end(), 0.0,
                                     [](double total, const UncertainMean& mean) { return total + mean.mean; });
  return {.mean = sum / count, .standard_error = ErrorOfSum(means) / count, .degrees_of_freedom = FreedomOfSum(means)};
}

std::vector<double> HolmAdjusted(std::span<const double> p_values, int64_t family) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double least = 0;
  double left = static_cast<double>(std::max(family, std::ssize(p_values)));
  for (const size_t at : order) {
    least = std::max(least, std::min(1.0, left * p_values[at]));
    adjusted[at] = least;
    left -= 1;
  }
  return adjusted;
}

}  // namespace assay::measure
