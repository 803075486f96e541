#include "measure/statistics.h"

#include <algorithm>
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

double StudentHalfWidth(const RunningMoments& moments, double confidence) {
  const auto count = static_cast<double>(moments.count());
  return StudentQuantile(0.5 + confidence / 2, count - 1) * std::sqrt(moments.variance() / count);
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

bool MeanEstimate::has_interval() const {
  return std::isfinite(interval.low) && std::isfinite(interval.high);
}

MeanEstimate MeanInterval(std::span<const double> values, double confidence) {
  MeanEstimate estimate;
  estimate.mean = Mean(values);
  estimate.batches = static_cast<int64_t>(values.size());
  estimate.interval = {-kInfinity, kInfinity};
  if (estimate.batches >= kFewestForInterval) {
    const double half_width = StudentHalfWidth(Moments(values), confidence);
    estimate.interval = {estimate.mean - half_width, estimate.mean + half_width};
  }
  return estimate;
}

MeanEstimate SequentialInterval(std::span<const double> values, int64_t at_most, double confidence) {
  const auto looks = static_cast<double>(std::max<int64_t>(1, at_most - kFewestForInterval + 1));
  return MeanInterval(values, 1 - (1 - confidence) / looks);
}

MeanEstimate BatchMeansInterval(std::span<const double> values, double confidence, int64_t batches) {
  const auto n = static_cast<int64_t>(values.size());
  MeanEstimate estimate;
  estimate.mean = Mean(values);
  estimate.interval = {-kInfinity, kInfinity};
  if (n < kFewestForBatchedInterval) {
    return estimate;
  }
  estimate.batches = std::clamp<int64_t>(batches, 2, n / 2);
  RunningMoments batch_means;
  for (int64_t k = 0; k < estimate.batches; ++k) {
    const int64_t begin = k * n / estimate.batches;
    const int64_t end = (k + 1) * n / estimate.batches;
    batch_means.Add(Mean(values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))));
  }
  const double half_width = StudentHalfWidth(batch_means, confidence);
  estimate.interval = {estimate.mean - half_width, estimate.mean + half_width};
  return estimate;
}

MeanEstimate RatioInterval(std::span<const double> amounts, std::span<const double> seconds) {
  const double mean_seconds = Mean(seconds);
  const double ratio = Mean(amounts) / mean_seconds;
  std::vector<double> residuals;
  for (size_t i = 0; i < seconds.size(); ++i) {
    residuals.push_back(amounts[i] - ratio * seconds[i]);
  }
  MeanEstimate estimate = BatchMeansInterval(residuals);
  const double half_width = estimate.half_width() / mean_seconds;
  estimate.mean = ratio;
  estimate.interval = {ratio - half_width, ratio + half_width};
  return estimate;
}

Interval WilsonInterval(int64_t successes, int64_t trials, double confidence) {
  const double z = NormalQuantile(0.5 + confidence / 2);
  const auto n = static_cast<double>(trials);
  const double part = static_cast<double>(successes) / n;
  const double middle = part + z * z / (2 * n);
  const double half_width = z * std::sqrt(part * (1 - part) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  return {std::max(0.0, (middle - half_width) / scale), std::min(1.0, (middle + half_width) / scale)};
}

}  // namespace assay::measure
