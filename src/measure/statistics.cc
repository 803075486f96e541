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

}  // namespace assay::measure
