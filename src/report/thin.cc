#include "report/thin.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace assay::report {

namespace {

using Points = std::vector<std::pair<double, double>>;

/// The lowest, the highest and the first hole of a stretch, in their order.
void KeepOf(std::span<const Points::value_type> stretch, Points& kept) {
  std::optional<size_t> low;
  std::optional<size_t> high;
  std::optional<size_t> hole;
  for (size_t i = 0; i < stretch.size(); ++i) {
    const double y = stretch[i].second;
    if (std::isnan(y)) {
      hole = hole.value_or(i);
    } else {
      low = !low || y < stretch[*low].second ? i : low;
      high = !high || y > stretch[*high].second ? i : high;
    }
  }
  for (const std::optional<size_t>& place : std::set{low, high, hole}) {
    if (place) {
      kept.push_back(stretch[*place]);
    }
  }
}

}  // namespace

std::vector<std::pair<double, double>> Thin(std::span<const double> x, std::span<const double> y, size_t max_points) {
  Points points;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (std::isfinite(x[i])) {
      points.emplace_back(x[i], std::isfinite(y[i]) ? y[i] : std::nan(""));
    }
  }
  if (points.size() <= max_points) {
    return points;
  }
  const size_t buckets = std::max<size_t>(max_points / 2, 1);
  Points kept;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const size_t begin = points.size() * bucket / buckets;
    const size_t end = points.size() * (bucket + 1) / buckets;
    KeepOf(std::span(points).subspan(begin, end - begin), kept);
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
