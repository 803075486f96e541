// Looks where a model of what has been seen expects to gain most.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "explore/search/gaussian_process.h"
#include "explore/search/grid.h"
#include "explore/search/sampler.h"
#include "explore/search/untried.h"

namespace assay::explore {

/// Bayesian optimisation on a grid: after some points that cover it (a Latin hypercube), the untried point with the
/// largest expected improvement (Jones, Schonlau and Welch, J. Global Optimization 13, 1998) under a Gaussian process,
/// over what that expects of the best point seen, since what was measured of it is in part noise (Brochu, Cora and de
/// Freitas, arXiv:1012.2599). Of several objectives each step takes another weighted sum with their largest weighted
/// one (ParEGO: Knowles, IEEE Trans. Evol. Comp. 10, 2006), so that the whole front is looked for. Points on their way
/// count as the model expects them; those without values as the worst that were seen.
class ModelSampler : public Sampler {
 public:
  ModelSampler(const Grid& grid, uint64_t seed);

  std::optional<int64_t> Next() override;
  void Tell(int64_t position, const std::vector<double>& objectives) override;

 private:
  std::optional<int64_t> TakeFromCover();
  double LeastExpected() const;
  std::vector<double> Scalars();
  std::vector<int64_t> Candidates();
  void FitModel(std::vector<double> values);

  const Grid grid_;
  std::mt19937_64 random_;
  Untried untried_;
  std::vector<int64_t> cover_;  ///< to be looked at before there is a model, last first
  GaussianProcess model_;
  std::vector<int64_t> seen_;
  std::vector<std::vector<double>> objectives_;  ///< of each seen point; empty: it has none
  std::set<int64_t> pending_;
  size_t with_values_ = 0;
};

}  // namespace assay::explore
