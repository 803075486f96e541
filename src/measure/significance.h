// Whether two means differ, and what of that is left when many such questions are asked at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/statistics.h"

namespace assay::measure {

/// A mean as a test needs it.
struct UncertainMean {
  double mean = 0;
  double standard_error = 0;
  double degrees_of_freedom = 0;
};

struct Difference {
  double difference = 0;  ///< second minus first
  Interval interval;      ///< at 95 %
  double p_value = 1;     ///< of means as far apart as this where there is no difference
};

/// Welch's test of two means (Biometrika 34, 1947): their variances may differ, the degrees of freedom are
/// Satterthwaite's. Both have one degree of freedom at least.
Difference CompareMeans(const UncertainMean& first, const UncertainMean& second);

/// The mean of independent means, which count alike.
UncertainMean MeanOfMeans(std::span<const UncertainMean> means);

/// Student's test that a mean is not 0.
Difference TestAgainstZero(const UncertainMean& mean);

/// The two-sided probability of a Student's t as far from 0 as `t`.
double StudentTwoSided(double t, double degrees_of_freedom);

/// p-values as they stand when `family` questions are asked at once (Holm, Scand. J. Statist. 6, 1979): below 0.05
/// they are so with at most 5 % probability that any of them is wrong, whatever depends on what. `family` is their
/// number, or more where some are not among `p_values`: these are taken to be the largest.
std::vector<double> HolmAdjusted(std::span<const double> p_values, int64_t family);

}  // namespace assay::measure
