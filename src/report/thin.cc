#include "report/thin.h"

#include <algorithm>
#include <cmath>

namespace assay::report {

std::vector<std::pair<double, double>> Thin(std::span<const double> x, std::span<const double> y, size_t max_points) {
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (std::isfinite(x[i]) && std::isfinite(y[i])) {
      points.emplace_back(x[i], y[i]);
    }
  }
  if (points.size() <= max_points) {
    return points;
  }
  const size_t buckets = std::max<size_t>(max_points / 2, 1);
  std::vector<std::pair<double, double>> kept;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(points.size() * bucket / buckets);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (bucket + 1) / buckets);
    auto [low, high] =
        std::minmax_element(begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) {
      std::swap(low, high);
    }
    kept.push_back(*low);
    if (high != low) {
      kept.push_back(*high);
    }
  }
  return kept;
}

std::vector<double> RunningMean(std::span<const double> values, size_t window) {
  const size_t half = window / 2;
  std::vector<double> means(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t begin = i < half ? 0 : i - half;
    const size_t end = std::min(values.size(), i + half + 1);
    double sum = 0;
    size_t count = 0;
    for (size_t j = begin; j < end; ++j) {
      sum += std::isfinite(values[j]) ? values[j] : 0;
      count += std::isfinite(values[j]) ? 1 : 0;
    }
    means[i] = count == 0 ? std::nan("") : sum / static_cast<double>(count);
  }
  return means;
}

}  // namespace assay::report
