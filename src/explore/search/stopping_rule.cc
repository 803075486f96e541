#include "explore/search/stopping_rule.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "measure/statistics.h"

namespace assay::explore {
namespace {

bool IsBehindMedian(const StoppingRule& rule, const Curve& curve, std::span<const OtherRun* const> others) {
  const int64_t step = curve.rbegin()->first;
  const int64_t whole = std::ranges::count_if(others, &OtherRun::whole);
  if (step < rule.first_step || whole == 0 || whole < rule.startup) {
    return false;
  }
  std::vector<double> at_step;
  for (const OtherRun* other : others) {
    const auto found = other->curve.find(step);
    if (other->whole && found != other->curve.end()) {
      at_step.push_back(found->second);
    }
  }
  return !at_step.empty() && std::ranges::min(std::views::values(curve)) > measure::Median(at_step);
}

/// Of the runs that came to `step`, `value` among them, it is one of those that go on: one at least does.
bool IsPromoted(const StoppingRule& rule, int64_t step, double value, std::span<const OtherRun* const> others) {
  std::vector<double> values = {value};
  for (const OtherRun* other : others) {
    const auto reached = other->curve.lower_bound(step);
    if (reached != other->curve.end()) {
      values.push_back(reached->second);
    }
  }
  std::ranges::sort(values);
  const int64_t promoted = std::max<int64_t>(1, std::ssize(values) / rule.reduction);
  return value <= values[static_cast<size_t>(promoted - 1)];
}

bool IsHalvedAway(const StoppingRule& rule, const Curve& curve, std::span<const OtherRun* const> others) {
  const int64_t last = curve.rbegin()->first;
  for (int64_t step = rule.first_step; step <= last; step *= rule.reduction) {
    const auto reached = curve.lower_bound(step);
    const bool now = reached->first == last;  // else it was promoted when it came there
    if (now && !IsPromoted(rule, step, reached->second, others)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view ToString(StoppingRule::Kind kind) {
  return kind == StoppingRule::Kind::kMedian ? "median" : "halving";
}

bool EndsNow(const StoppingRule& rule, const Curve& curve, std::span<const OtherRun* const> others) {
  return rule.kind == StoppingRule::Kind::kMedian ? IsBehindMedian(rule, curve, others)
                                                  : IsHalvedAway(rule, curve, others);
}

}  // namespace assay::explore
