#include "measure/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace assay::measure {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double SortedQuantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) {
    return kNan;
  }
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

RunningMoments Moments(std::span<const double> values) {
  RunningMoments moments;
  for (const double value : values) {
    moments.Add(value);
  }
  return moments;
}

// Chance of at most `successes` heads in `trials` fair throws.
double FairBinomialCdf(int64_t successes, int64_t trials) {
  double sum = 0;
  for (int64_t k = 0; k <= successes; ++k) {
    const auto n = static_cast<double>(trials);
    const auto heads = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(heads + 1) - std::lgamma(n - heads + 1) - n * std::log(2.0));
  }
  return sum;
}

// Standard error of the logarithm of a median, from the distance between two order statistics around it.
double LogMedianError(const std::vector<double>& sorted) {
  const auto n = static_cast<int64_t>(sorted.size());
  const auto size = static_cast<double>(n);
  const int64_t rank = std::max<int64_t>(1, std::llround(size / 2 - std::sqrt(size)));
  const double low = sorted[static_cast<size_t>(rank - 1)];
  const double high = sorted[static_cast<size_t>(n - rank)];
  const double z = NormalQuantile(1 - FairBinomialCdf(rank - 1, n));
  return (std::log(high) - std::log(low)) / (2 * z);
}

}  // namespace

void RunningMoments::Add(double value) {
  ++count_;
  const double difference = value - mean_;
  mean_ += difference / static_cast<double>(count_);
  squares_ += difference * (value - mean_);
}

double RunningMoments::variance() const {
  return count_ < 2 ? 0 : squares_ / static_cast<double>(count_ - 1);
}

double Mean(std::span<const double> values) {
  return values.empty() ? kNan : Moments(values).mean();
}

double Variance(std::span<const double> values) {
  return values.empty() ? kNan : Moments(values).variance();
}

double Median(std::span<const double> values) {
  return Quantile(values, 0.5);
}

double Quantile(std::span<const double> values, double q) {
  return SortedQuantile(Sorted(values), q);
}

double MedianAbsoluteDeviation(std::span<const double> values) {
  const double median = Median(values);
  std::vector<double> deviations;
  for (const double value : values) {
    deviations.push_back(std::abs(value - median));
  }
  return Median(deviations);
}

MeanEstimate BatchMeansInterval(std::span<const double> values, double confidence, int64_t batches) {
  const auto n = static_cast<int64_t>(values.size());
  MeanEstimate estimate;
  estimate.mean = Mean(values);
  estimate.batches = n < 4 ? n : std::clamp<int64_t>(batches, 2, n / 2);
  estimate.interval = {-kInfinity, kInfinity};
  if (n < 2) {
    return estimate;
  }
  RunningMoments batch_means;
  for (int64_t k = 0; k < estimate.batches; ++k) {
    const int64_t begin = k * n / estimate.batches;
    const int64_t end = (k + 1) * n / estimate.batches;
    batch_means.Add(Mean(values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))));
  }
  const auto count = static_cast<double>(estimate.batches);
  const double half_width =
      StudentQuantile(0.5 + confidence / 2, count - 1) * std::sqrt(batch_means.variance() / count);
  estimate.interval = {estimate.mean - half_width, estimate.mean + half_width};
  return estimate;
}

RatioEstimate PairedMedianRatio(std::span<const double> a, std::span<const double> b, double confidence) {
  assert(a.size() == b.size());
  const std::vector<double> sorted_a = Sorted(a);
  const std::vector<double> sorted_b = Sorted(b);
  const double median_a = SortedQuantile(sorted_a, 0.5);
  const double median_b = SortedQuantile(sorted_b, 0.5);
  RatioEstimate estimate{median_a / median_b, {0, kInfinity}};
  if (a.size() < 2) {
    return estimate;
  }
  int64_t both_below = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both_below += a[i] < median_a && b[i] < median_b ? 1 : 0;
  }
  const double error_a = LogMedianError(sorted_a);
  const double error_b = LogMedianError(sorted_b);
  const double share_below = (static_cast<double>(both_below) + 0.25) / (static_cast<double>(a.size()) + 1);
  const double covariance = (4 * share_below - 1) * error_a * error_b;
  const double variance = error_a * error_a + error_b * error_b - 2 * covariance;
  const double factor = std::exp(NormalQuantile(0.5 + confidence / 2) * std::sqrt(std::max(0.0, variance)));
  estimate.interval = {estimate.ratio / factor, estimate.ratio * factor};
  return estimate;
}

}  // namespace assay::measure
