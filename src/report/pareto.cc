#include "report/pareto.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace assay::report {
namespace {

struct Placed {
  double x = 0;  // higher is better, of both
  double y = 0;
  size_t configuration = 0;
};

double Goodness(double value, Better better) {
  return better == Better::kHigher ? value : -value;
}

/// Best x first, of equal ones best y: what follows is on the front while its y is better than any before it.
void AddFront(std::vector<Placed> points, std::vector<size_t>& front) {
  std::ranges::sort(points, [](const Placed& a, const Placed& b) { return a.x != b.x ? a.x > b.x : a.y > b.y; });
  const Placed* last = nullptr;
  for (const Placed& point : points) {
    const bool is_equal = last != nullptr && point.x == last->x && point.y == last->y;
    if (last == nullptr || point.y > last->y || is_equal) {
      front.push_back(point.configuration);
      last = &point;
    }
  }
}

/// Of values of which higher ones are better: `a` is as good in all and better in one.
bool Beats(const std::vector<double>& a, const std::vector<double>& b) {
  return a != b && std::ranges::equal(a, b, std::ranges::greater_equal());
}

}  // namespace

Better BetterOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kThroughput:
    case MetricKind::kModelFlops:
    case MetricKind::kHardwareFlops:
    case MetricKind::kEnergyEfficiency:
      return Better::kHigher;
    case MetricKind::kStepSeconds:
    case MetricKind::kPeakTensorMemory:
    case MetricKind::kPeakResidentMemory:
    case MetricKind::kLoss:
    case MetricKind::kRuntime:
      return Better::kLower;
    default:
      return Better::kNeither;
  }
}

std::vector<size_t> ConditionGroups(const ResultSet& results) {
  std::map<std::vector<space::Value>, size_t> numbers;
  std::vector<size_t> groups;
  for (const Configuration& configuration : results.configurations()) {
    std::vector<space::Value> conditions;
    for (const std::string& condition : results.conditions()) {
      conditions.push_back(configuration.At(condition));
    }
    groups.push_back(numbers.emplace(std::move(conditions), numbers.size()).first->second);
  }
  return groups;
}

std::vector<size_t> NothingBeats(const ResultSet& results, const std::vector<Metric>& metrics,
                                 const Estimates& estimates, std::span<const size_t> objectives) {
  struct Candidate {
    size_t configuration = 0;
    size_t group = 0;
    std::vector<double> goodness;
  };
  std::vector<Candidate> candidates;
  const std::vector<size_t> group_of = ConditionGroups(results);
  for (size_t i = 0; i < group_of.size(); ++i) {
    Candidate candidate{.configuration = i, .group = group_of[i], .goodness = {}};
    for (const size_t metric : objectives) {
      if (const auto& at = estimates.At(i, metric)) {
        candidate.goodness.push_back(Goodness(at->value, BetterOf(metrics[metric].kind)));
      }
    }
    if (candidate.goodness.size() == objectives.size()) {
      candidates.push_back(std::move(candidate));
    }
  }
  std::vector<size_t> front;
  for (const Candidate& candidate : candidates) {
    const bool is_beaten = std::ranges::any_of(candidates, [&](const Candidate& other) {
      return other.group == candidate.group && Beats(other.goodness, candidate.goodness);
    });
    if (!is_beaten) {
      front.push_back(candidate.configuration);
    }
  }
  return front;
}

std::vector<Front> FindFronts(const ResultSet& results, const std::vector<Metric>& metrics,
                              const Estimates& estimates) {
  const std::vector<size_t> group_of = ConditionGroups(results);
  std::vector<Front> fronts;
  for (size_t x = 0; x < metrics.size(); ++x) {
    for (size_t y = x + 1; y < metrics.size(); ++y) {
      const Better better_x = BetterOf(metrics[x].kind);
      const Better better_y = BetterOf(metrics[y].kind);
      if (better_x == Better::kNeither || better_y == Better::kNeither) {
        continue;
      }
      std::map<size_t, std::vector<Placed>> groups;
      for (size_t i = 0; i < group_of.size(); ++i) {
        const auto& at_x = estimates.At(i, x);
        const auto& at_y = estimates.At(i, y);
        if (at_x && at_y) {
          groups[group_of[i]].push_back({Goodness(at_x->value, better_x), Goodness(at_y->value, better_y), i});
        }
      }
      Front front{.x = x, .y = y, .configurations = {}};
      for (auto& [group, points] : groups) {
        AddFront(std::move(points), front.configurations);
      }
      std::ranges::sort(front.configurations);
      fronts.push_back(std::move(front));
    }
  }
  return fronts;
}

}  // namespace assay::report
