#include "explore/search/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "measure/statistics.h"

namespace assay::explore {
namespace {

constexpr double kJitter = 1e-9;  // keeps the matrix positive where points are all but the same

double LogUniform(double low, double high, std::mt19937_64& random) {
  return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
}

double LogNormal(double value, double middle, double spread) {
  const double z = std::log(value / middle) / spread;
  return -0.5 * z * z;
}

/// But for a constant, the logarithm of how probable parameters are before anything was seen.
double LogPrior(const KernelParameters& parameters) {
  double sum = LogNormal(parameters.noise, 0.02, 1.5);
  for (const double length : parameters.lengths) {
    sum += LogNormal(length, 0.7, 1);
  }
  return sum;
}

KernelParameters AnyParameters(size_t features, std::mt19937_64& random) {
  KernelParameters parameters;
  for (size_t i = 0; i < features; ++i) {
    parameters.lengths.push_back(LogUniform(0.1, 10, random));
  }
  parameters.noise = LogUniform(1e-5, 0.1, random);
  return parameters;
}

KernelParameters Near(KernelParameters parameters, std::mt19937_64& random) {
  std::normal_distribution<double> step(0, 0.4);
  for (double& length : parameters.lengths) {
    length = std::clamp(length * std::exp(step(random)), 0.05, 20.0);
  }
  parameters.noise = std::clamp(parameters.noise * std::exp(step(random)), 1e-6, 0.3);
  return parameters;
}

}  // namespace

double GaussianProcess::Kernel(const Features& a, const Features& b) const {
  double squared = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = ordered_[i] ? a[i] - b[i] : static_cast<double>(a[i] != b[i]);
    squared += apart * apart / (parameters_.lengths[i] * parameters_.lengths[i]);
  }
  const double distance = std::sqrt(5 * squared);
  return (1 + distance + distance * distance / 3) * std::exp(-distance);
}

/// The lower triangle L of K + noise = L L^T.
void GaussianProcess::Decompose() {
  const size_t n = points_.size();
  lower_.assign(n * n, 0);
  for (size_t row = 0; row < n; ++row) {
    for (size_t column = 0; column <= row; ++column) {
      double sum = Kernel(points_[row], points_[column]) + (row == column ? parameters_.noise + kJitter : 0);
      for (size_t k = 0; k < column; ++k) {
        sum -= lower_[row * n + k] * lower_[column * n + k];
      }
      lower_[row * n + column] = row == column ? std::sqrt(std::max(sum, kJitter)) : sum / lower_[column * n + column];
    }
  }
}

/// Turns b into x of L x = b.
void GaussianProcess::SolveLower(std::vector<double>& right) const {
  const size_t n = points_.size();
  for (size_t row = 0; row < n; ++row) {
    for (size_t k = 0; k < row; ++k) {
      right[row] -= lower_[row * n + k] * right[k];
    }
    right[row] /= lower_[row * n + row];
  }
}

void GaussianProcess::Fit(std::vector<Features> points, const std::vector<double>& values,
                          const KernelParameters& parameters) {
  points_ = std::move(points);
  parameters_ = parameters;
  const size_t n = points_.size();
  mean_ = measure::Mean(values);
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean_) * (value - mean_);
  }
  scale_ = squares > 0 ? std::sqrt(squares / static_cast<double>(n)) : 1;
  Decompose();
  std::vector<double> solved;
  for (const double value : values) {
    solved.push_back((value - mean_) / scale_);
  }
  SolveLower(solved);
  log_likelihood_ = -0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi);
  for (size_t i = 0; i < n; ++i) {
    log_likelihood_ -= 0.5 * solved[i] * solved[i] + std::log(lower_[i * n + i]);
  }
  weights_ = std::move(solved);
  for (size_t row = n; row-- > 0;) {
    for (size_t k = row + 1; k < n; ++k) {
      weights_[row] -= lower_[k * n + row] * weights_[k];
    }
    weights_[row] /= lower_[row * n + row];
  }
}

void GaussianProcess::FitBest(const std::vector<Features>& points, const std::vector<double>& values, int tries,
                              std::mt19937_64& random) {
  KernelParameters best = parameters_.lengths.empty() ? AnyParameters(ordered_.size(), random) : parameters_;
  Fit(points, values, best);
  double most_probable = log_likelihood_ + LogPrior(best);
  for (int i = 0; i < tries; ++i) {
    const KernelParameters next = i < tries / 2 ? AnyParameters(ordered_.size(), random) : Near(best, random);
    Fit(points, values, next);
    if (const double probable = log_likelihood_ + LogPrior(next); probable > most_probable) {
      most_probable = probable;
      best = next;
    }
  }
  Fit(points, values, best);
}

Prediction GaussianProcess::Predict(const Features& point) const {
  std::vector<double> covariance;
  for (const Features& seen : points_) {
    covariance.push_back(Kernel(point, seen));
  }
  double mean = 0;
  for (size_t i = 0; i < covariance.size(); ++i) {
    mean += covariance[i] * weights_[i];
  }
  SolveLower(covariance);
  double variance = 1;
  for (const double each : covariance) {
    variance -= each * each;
  }
  return {mean_ + scale_ * mean, scale_ * std::sqrt(std::max(variance, 0.0))};
}

}  // namespace assay::explore
