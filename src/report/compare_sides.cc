#include "report/compare_sides.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "measure/significance.h"
#include "measure/statistics.h"
#include "report/conditions.h"
#include "report/pareto.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

using PointKey = std::pair<std::string, std::string>;
using Groups = std::map<Conditions, Configuration>;

struct Side {
  std::map<PointKey, Groups> points;
};

Side ArrangeSide(std::span<const Measurement> measurements) {
  Side side;
  const std::vector<std::string> conditions = AllConditions();
  for (const Measurement& run : measurements) {
    Groups& groups = side.points[{run.parameterized_id, run.entity_id}];
    Configuration& group = groups[ConditionsOf(run, conditions)];
    group.runs.push_back(&run);
    if (group.outcome != Outcome::kValid) {
      group.outcome = run.outcome;
    }
  }
  return side;
}

bool HasValid(const Groups& groups) {
  return std::ranges::any_of(groups, [](const auto& group) { return group.second.outcome == Outcome::kValid; });
}

/// What one of them does not tell differs too.
std::vector<std::string> Differing(const Conditions& a, const Conditions& b) {
  std::vector<std::string> keys;
  for (const std::string& key : AllConditions()) {
    const auto in_a = a.find(key);
    const auto in_b = b.find(key);
    if ((in_a == a.end()) != (in_b == b.end()) || (in_a != a.end() && in_a->second != in_b->second)) {
      keys.push_back(key);
    }
  }
  return keys;
}

/// The valid groups of both sides that agree most, the host last, and of such the newest.
ComparedPoint MatchGroups(const PointKey& key, const Groups& before, const Groups& after) {
  ComparedPoint best;
  std::tuple<size_t, bool, std::string> best_rank;
  for (const auto& [made_before, from] : before) {
    for (const auto& [made_after, to] : after) {
      if (from.outcome != Outcome::kValid || to.outcome != Outcome::kValid) {
        continue;
      }
      std::vector<std::string> differs = Differing(made_before, made_after);
      const bool same_host = std::ranges::find(differs, "host") == differs.end();
      const size_t others = differs.size() - (same_host ? 0 : 1);
      const std::tuple rank(AllConditions().size() - others, same_host,
                            from.runs.back()->measured_at + to.runs.back()->measured_at);
      if (rank > best_rank) {
        best_rank = rank;
        best = {key.first, key.second, from, to, std::move(differs)};
      }
    }
  }
  return best;
}

std::vector<Metric> MetricsOf(std::span<const Measurement> before, std::span<const Measurement> after,
                              experiment::Experiments catalogue) {
  std::vector<Measurement> all(before.begin(), before.end());
  all.insert(all.end(), after.begin(), after.end());
  std::vector<Metric> metrics = ResolveMetrics(ResultSet(all, catalogue));
  std::erase_if(metrics, [](const Metric& metric) { return BetterOf(metric.kind) == Better::kNeither; });
  return metrics;
}

Change ChangeOf(const Metric& metric, const Effect& effect, std::optional<double> p_value) {
  constexpr double kSure = 0.05;
  if (!p_value) {
    return Change::kUnknown;
  }
  if (*p_value >= kSure) {
    return Change::kSame;
  }
  return (effect.ratio > 1) == (BetterOf(metric.kind) == Better::kHigher) ? Change::kBetter : Change::kWorse;
}

void MatchPoints(const Side& before, const Side& after, SideComparison& comparison) {
  for (const auto& [key, groups] : before.points) {
    const auto other = after.points.find(key);
    if (other == after.points.end()) {
      ++comparison.only_before;
      continue;
    }
    const bool valid_before = HasValid(groups);
    const bool valid_after = HasValid(other->second);
    if (valid_before && valid_after) {
      comparison.points.push_back(MatchGroups(key, groups, other->second));
    } else if (valid_before) {
      comparison.no_longer_valid.push_back(key.second);
    } else if (valid_after) {
      comparison.now_valid.push_back(key.second);
    }
  }
  comparison.only_after = static_cast<size_t>(
      std::ranges::count_if(after.points, [&](const auto& point) { return !before.points.contains(point.first); }));
}

/// An interval from within one run says nothing about the next run, and so nothing about a change; of several points
/// the points are the sample.
bool IsSureOfRuns(const Effect& effect) {
  return effect.p_value && (!effect.within_runs || static_cast<int64_t>(effect.pairs) >= measure::kFewestForInterval);
}

/// Sets `adjusted_p` of those that have a p-value, and what they are called.
template <typename EachChange>
void Judge(const std::vector<Metric>& metrics, std::vector<EachChange>& changes) {
  std::vector<double> p_values;
  for (const EachChange& change : changes) {
    if (IsSureOfRuns(change.effect)) {
      p_values.push_back(*change.effect.p_value);
    }
  }
  const std::vector<double> adjusted = measure::HolmAdjusted(p_values, std::ssize(p_values));
  size_t next = 0;
  for (EachChange& change : changes) {
    if (IsSureOfRuns(change.effect)) {
      change.adjusted_p = adjusted[next++];
    }
    change.change = ChangeOf(metrics[change.metric], change.effect, change.adjusted_p);
  }
}

void JudgePoints(SideComparison& comparison) {
  for (size_t metric = 0; metric < comparison.metrics.size(); ++metric) {
    for (size_t point = 0; point < comparison.points.size(); ++point) {
      const ComparedPoint& pair = comparison.points[point];
      const auto effect = EffectOn({{&pair.before, &pair.after}}, comparison.metrics[metric]);
      if (!effect) {
        continue;
      }
      comparison.changes.push_back({.point = point,
                                    .metric = metric,
                                    .before = *EstimateOf(pair.before, comparison.metrics[metric]),
                                    .after = *EstimateOf(pair.after, comparison.metrics[metric]),
                                    .effect = *effect});
    }
  }
  Judge(comparison.metrics, comparison.changes);
  std::ranges::stable_sort(comparison.changes, {}, [](const PointChange& change) {
    return std::pair(change.adjusted_p.value_or(2), change.effect.p_value.value_or(2));
  });
}

void JudgeOverall(SideComparison& comparison) {
  std::vector<MatchedPair> pairs;
  for (const ComparedPoint& point : comparison.points) {
    pairs.push_back({&point.before, &point.after, pairs.size()});
  }
  for (size_t metric = 0; metric < comparison.metrics.size(); ++metric) {
    const auto effect = EffectOn(pairs, comparison.metrics[metric]);
    if (!effect) {
      continue;
    }
    OverallChange overall{.metric = metric, .effect = *effect};
    for (const PointChange& change : comparison.changes) {
      overall.better += change.metric == metric && change.change == Change::kBetter ? 1 : 0;
      overall.worse += change.metric == metric && change.change == Change::kWorse ? 1 : 0;
    }
    comparison.overall.push_back(std::move(overall));
  }
  Judge(comparison.metrics, comparison.overall);
}

}  // namespace

SideComparison CompareSides(std::span<const Measurement> before, std::span<const Measurement> after,
                            experiment::Experiments catalogue) {
  SideComparison comparison;
  comparison.metrics = MetricsOf(before, after, catalogue);
  MatchPoints(ArrangeSide(before), ArrangeSide(after), comparison);
  JudgePoints(comparison);
  JudgeOverall(comparison);
  return comparison;
}

}  // namespace assay::report
