#include "explore/search/model_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "explore/search/latin_hypercube.h"

namespace assay::explore {
namespace {

constexpr int64_t kMostScored = 20'000;  // untried points that are scored for one choice
constexpr size_t kOftenFitted = 60;      // beyond so many points the kernel changes little from one to the next
constexpr int kTries = 40;

int64_t CoverSize(const Grid& grid) {
  const int64_t wanted = std::max<int64_t>(8, 2 * std::ssize(grid.axes()));
  return std::min(wanted, grid.size());
}

std::vector<bool> OrderedOf(const Grid& grid) {
  std::vector<bool> ordered;
  for (const GridAxis& axis : grid.axes()) {
    ordered.push_back(axis.ordered);
  }
  return ordered;
}

/// Positions stay what they are: an axis of one value says nothing, and would ask for more points that cover the grid.
Grid OfSeveralValues(const Grid& grid) {
  std::vector<GridAxis> axes = grid.axes();
  std::erase_if(axes, [](const GridAxis& axis) { return axis.size == 1; });
  return Grid(std::move(axes));
}

/// Of values of which smaller ones are better.
double ExpectedImprovement(const Prediction& prediction, double best) {
  const double gain = best - prediction.mean;
  if (prediction.standard_deviation <= 0) {
    return std::max(gain, 0.0);
  }
  const double z = gain / prediction.standard_deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return gain * below + prediction.standard_deviation * density;
}

/// Positive weights that sum to 1, any of them as likely.
std::vector<double> AnyWeights(size_t count, std::mt19937_64& random) {
  std::vector<double> weights;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    weights.push_back(std::exponential_distribution<double>(1)(random));
    sum += weights.back();
  }
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

/// Least and greatest of each objective.
std::vector<std::pair<double, double>> RangesOf(const std::vector<std::vector<double>>& objectives, size_t count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> ranges(count, {kInfinity, -kInfinity});
  for (const std::vector<double>& values : objectives) {
    for (size_t i = 0; i < values.size(); ++i) {
      ranges[i] = {std::min(ranges[i].first, values[i]), std::max(ranges[i].second, values[i])};
    }
  }
  return ranges;
}

}  // namespace

ModelSampler::ModelSampler(const Grid& grid, uint64_t seed)
    : grid_(OfSeveralValues(grid)),
      random_(seed),
      untried_(grid_.size(), seed + 1),
      cover_(LatinHypercube(grid_, CoverSize(grid_), random_)),
      model_(OrderedOf(grid_)) {}

std::optional<int64_t> ModelSampler::TakeFromCover() {
  while (!cover_.empty()) {
    const int64_t position = cover_.back();
    cover_.pop_back();
    if (untried_.Take(position)) {
      return position;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> ModelSampler::Next() {
  std::optional<int64_t> next = TakeFromCover();
  if (!next && with_values_ < 3) {
    next = untried_.TakeAny();
  } else if (!next && untried_.size() > 0) {
    FitModel(Scalars());
    const double best_value = LeastExpected();
    double most = -1;
    for (const int64_t candidate : Candidates()) {
      const double gain = ExpectedImprovement(model_.Predict(grid_.Features(candidate)), best_value);
      if (gain > most) {
        most = gain;
        next = candidate;
      }
    }
    untried_.Take(*next);
  }
  if (next) {
    pending_.insert(*next);
  }
  return next;
}

/// Of the seen points. The least that was measured is in part luck, which no other point can be expected to have.
double ModelSampler::LeastExpected() const {
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t position : seen_) {
    least = std::min(least, model_.Predict(grid_.Features(position)).mean);
  }
  return least;
}

/// All untried points, or as many of them at random as are scored at once.
std::vector<int64_t> ModelSampler::Candidates() {
  std::vector<int64_t> candidates;
  if (grid_.size() <= kMostScored) {
    for (int64_t position = 0; position < grid_.size(); ++position) {
      if (untried_.Has(position)) {
        candidates.push_back(position);
      }
    }
    return candidates;
  }
  std::uniform_int_distribution<int64_t> any(0, grid_.size() - 1);
  while (std::ssize(candidates) < std::min(kMostScored, untried_.size())) {
    if (const int64_t position = any(random_); untried_.Has(position)) {
      candidates.push_back(position);
    }
  }
  return candidates;
}

/// One number for each seen point, smaller ones better.
std::vector<double> ModelSampler::Scalars() {
  size_t count = 0;
  for (const std::vector<double>& values : objectives_) {
    count = std::max(count, values.size());
  }
  const auto ranges = RangesOf(objectives_, count);
  const std::vector<double> weights = AnyWeights(count, random_);
  constexpr double kShareOfSum = 0.05;
  std::vector<double> scalars;
  double worst = -std::numeric_limits<double>::infinity();
  for (const std::vector<double>& values : objectives_) {
    double largest = 0;
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double width = ranges[i].second - ranges[i].first;
      const double weighted = weights[i] * (width > 0 ? (values[i] - ranges[i].first) / width : 0);
      largest = std::max(largest, weighted);
      sum += weighted;
    }
    scalars.push_back(largest + kShareOfSum * sum);
    if (!values.empty()) {
      worst = std::max(worst, scalars.back());
    }
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    scalars[i] = objectives_[i].empty() ? worst : scalars[i];
  }
  return scalars;
}

void ModelSampler::FitModel(std::vector<double> values) {
  std::vector<Features> points;
  for (const int64_t position : seen_) {
    points.push_back(grid_.Features(position));
  }
  const bool anew = seen_.size() <= kOftenFitted || seen_.size() % 10 == 0;
  model_.FitBest(points, values, anew ? kTries : 0, random_);
  if (pending_.empty()) {
    return;
  }
  std::vector<double> expected;
  for (const int64_t position : pending_) {
    points.push_back(grid_.Features(position));
    expected.push_back(model_.Predict(points.back()).mean);
  }
  values.insert(values.end(), expected.begin(), expected.end());
  model_.Fit(std::move(points), values, model_.parameters());
}

void ModelSampler::Tell(int64_t position, const std::vector<double>& objectives) {
  pending_.erase(position);
  seen_.push_back(position);
  objectives_.push_back(objectives);
  with_values_ += objectives.empty() ? 0 : 1;
}

}  // namespace assay::explore
