// Statistics of timings: robust location and spread, and intervals that say how sure a mean is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::measure {

/// Mean and variance in one pass (Welford 1962, "Note on a method for calculating corrected sums of squares").
class RunningMoments {
 public:
  void Add(double value);
  int64_t count() const { return count_; }
  double mean() const { return mean_; }
  double variance() const;  ///< of a sample (n - 1); 0 below two values

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

/// All of these are NaN for no values, where the sum says nothing else.
double Mean(std::span<const double> values);
double Median(std::span<const double> values);
/// Linear between order statistics (type 7 of Hyndman & Fan 1996, numpy's default); `q` in [0, 1].
double Quantile(std::span<const double> values, double q);
/// Median of the absolute deviations from the median; times 1.4826 it estimates a normal distribution's sigma.
double MedianAbsoluteDeviation(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

struct MeanEstimate {
  double mean = 0;
  Interval interval;  ///< infinite when there are too few values to tell
  int64_t batches = 0;

  bool has_interval() const;
  double half_width() const { return (interval.high - interval.low) / 2; }
};

/// Below so many values there is no interval. With one degree of freedom Student's quantile is 12.7 and the spread
/// itself is hardly known: such an interval is as wide as luck has it.
inline constexpr int64_t kFewestForInterval = 3;         ///< independent values: runs, pairs
inline constexpr int64_t kFewestForBatchedInterval = 8;  ///< values in the order of time: four batches of two

inline constexpr int64_t kBatches = 10;  ///< that values in the order of time are cut into

/// Mean of independent values, with Student's t.
MeanEstimate MeanInterval(std::span<const double> values, double confidence = 0.95);

/// Mean of independent values of a normal distribution, `values` being those seen so far, for who looks at it after
/// each from the third to the `at_most`th and goes on or not by what is seen. Plain intervals looked at again and again
/// miss the mean ever more often (Armitage, McPherson & Rowe 1969, "Repeated significance tests on accumulating data",
/// J. R. Statist. Soc. A 132). Here what they may miss together is spent in equal parts on the looks (an alpha-spending
/// plan: Lan & DeMets 1983, "Discrete sequential boundaries for clinical trials", Biometrika 70), each of which is
/// Student's: by Bonferroni's inequality the mean is in all of them with `confidence` at least, and so in the last,
/// wherever one ends. From the `at_most`th on as there.
MeanEstimate SequentialInterval(std::span<const double> values, int64_t at_most, double confidence = 0.95);

/// Mean of values in the order of time, with an interval that holds although neighbours are correlated: the values are
/// cut into batches whose means are nearly independent, and Student's t is applied to these (Law & Kelton, "Simulation
/// Modeling and Analysis", batch means). `batches` is lowered so that each has two values at least. Batches may differ
/// in length by one.
MeanEstimate BatchMeansInterval(std::span<const double> values, double confidence = 0.95, int64_t batches = kBatches);

/// sum(amounts) / sum(seconds) over steps in the order of time, with an interval by batch means of the residuals
/// amount - ratio x seconds (Cochran, "Sampling Techniques", 1977, section 6.3): a step that took long because it had
/// much to do is no noise. The spans are equally long; NaN where all seconds are 0.
MeanEstimate RatioInterval(std::span<const double> amounts, std::span<const double> seconds);

/// Interval of a probability of which `successes` of `trials` independent ones came true (Wilson 1927, "Probable
/// inference, the law of succession, and statistical inference"); within [0, 1], and no point where all or none did.
Interval WilsonInterval(int64_t successes, int64_t trials, double confidence = 0.95);

/// Quantile `p` in (0, 1) of the standard normal distribution.
double NormalQuantile(double p);

/// Quantile `p` in (0, 1) of Student's t distribution.
double StudentQuantile(double p, double degrees_of_freedom);

}  // namespace assay::measure
