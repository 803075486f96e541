// When a run of a search ends early: its progress beside that of others at the same step.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

namespace assay::explore {

/// What a run showed after each of its steps, from 1: smaller is better. Steps that showed nothing are left out.
using Curve = std::map<int64_t, double>;

/// A run of another point, ended or under way.
struct OtherRun {
  Curve curve;
  bool whole = false;  ///< it was measured to its end
};

/// The rules of Optuna's MedianPruner and SuccessiveHalvingPruner, with their defaults but for `first_step`.
struct StoppingRule {
  enum class Kind {
    /// Ends a run whose best value so far is worse than the median of whole runs at the same step.
    kMedian,
    /// Asynchronous successive halving: at first_step, and at every `reduction` times as many, ends a run whose value
    /// is not among the best 1 / `reduction` of all runs that came so far.
    kHalving,
  };
  Kind kind = Kind::kMedian;
  int64_t first_step = 5;  ///< no run ends before it
  int64_t startup = 5;     ///< of the median: nor before so many were seen whole
  int64_t reduction = 4;   ///< of halving
};

/// "median", "halving".
std::string_view ToString(StoppingRule::Kind kind);

/// Whether `rule` ends a run now, after the last step of `curve`. To be asked after each step that showed something.
bool EndsNow(const StoppingRule& rule, const Curve& curve, std::span<const OtherRun* const> others);

}  // namespace assay::explore
