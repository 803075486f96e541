// A Gaussian process over features of points: what has been seen, what is to be expected elsewhere, and how unsure that
// is (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace assay::explore {

using Features = std::vector<double>;

/// Matern's kernel of 5/2 with a length for each feature. Of an ordered feature the distance counts; of another whether
/// it is the same.
struct KernelParameters {
  std::vector<double> lengths;
  double noise = 1e-3;  ///< variance of a measurement, of a process of variance 1
};

struct Prediction {
  double mean = 0;
  double standard_deviation = 0;
};

class GaussianProcess {
 public:
  explicit GaussianProcess(std::vector<bool> ordered) : ordered_(std::move(ordered)) {}

  /// Takes `values` at `points`, which are put to mean 0 and variance 1 inside.
  void Fit(std::vector<Features> points, const std::vector<double>& values, const KernelParameters& parameters);
  /// Likewise, with the parameters of `tries` at random and of steps around the best of them that are most probable
  /// after what was seen; those of the last call are tried first. Before it,
  /// lengths about as long as an axis and a noise of a few hundredths are the most probable: few values say too little.
  void FitBest(const std::vector<Features>& points, const std::vector<double>& values, int tries,
               std::mt19937_64& random);

  Prediction Predict(const Features& point) const;
  /// The logarithm of how likely the values are, of variance 1, under the parameters.
  double log_likelihood() const { return log_likelihood_; }
  const KernelParameters& parameters() const { return parameters_; }

 private:
  double Kernel(const Features& a, const Features& b) const;
  void Decompose();
  void SolveLower(std::vector<double>& right) const;

  const std::vector<bool> ordered_;
  KernelParameters parameters_;
  std::vector<Features> points_;
  std::vector<double> lower_;    ///< Cholesky's factor, row by row
  std::vector<double> weights_;  ///< (K + noise)^-1 y
  double mean_ = 0;
  double scale_ = 1;
  double log_likelihood_ = 0;
};

}  // namespace assay::explore
