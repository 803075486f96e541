#include "report/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "base/text.h"
#include "measure/statistics.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Outcome;
using space::Value;

constexpr std::string_view kCommit = "commit";

bool IsNumber(const Value& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

/// The only value that the configurations with `value` of `property` have of `other`; nothing when there are several.
std::optional<Value> OnlyValue(const ResultSet& results, const std::string& property, const Value& value,
                               const std::string& other) {
  std::optional<Value> only;
  for (const Configuration& configuration : results.configurations()) {
    if (configuration.At(property) == value && only.value_or(configuration.At(other)) != configuration.At(other)) {
      return std::nullopt;
    }
    if (configuration.At(property) == value) {
      only = configuration.At(other);
    }
  }
  return only;
}

/// One comparison with what it found of the throughput.
struct Compared {
  Comparison comparison;
  std::vector<MatchedPair> pairs;
  Effect effect;
};

std::optional<Compared> CompareThroughput(const ResultSet& results, const Metric& throughput,
                                          const std::string& property, const Value& from, const Value& to) {
  Comparison comparison = Compare(results, property, from, to);
  std::vector<MatchedPair> pairs = MatchedPairs(results, comparison);
  const std::optional<Effect> effect = EffectOn(pairs, throughput);
  return effect ? std::optional<Compared>({std::move(comparison), std::move(pairs), *effect}) : std::nullopt;
}

/// Out of memory at one end leaves the next value to compare.
std::vector<Compared> CompareNumbers(const ResultSet& results, const Metric& throughput, const std::string& property,
                                     const std::vector<Value>& values) {
  std::vector<Compared> found;
  size_t first = 0;
  for (size_t span = values.size() - 1; span > 0 && found.empty(); --span) {
    for (first = 0; first + span < values.size() && found.empty(); ++first) {
      if (auto compared = CompareThroughput(results, throughput, property, values[first], values[first + span])) {
        found.push_back(*std::move(compared));
      }
    }
  }
  if (found.empty()) {
    return found;
  }
  const Value from = found.front().comparison.from;
  const Value to = found.front().comparison.to;
  std::optional<Compared> best;
  for (const Value& value : values) {
    auto compared =
        value == from || value == to ? std::nullopt : CompareThroughput(results, throughput, property, from, value);
    const double to_beat = best ? best->effect.ratio : std::max(1.0, found.front().effect.ratio);
    if (compared && compared->effect.ratio > to_beat) {
      best = std::move(compared);
    }
  }
  if (best) {
    found.push_back(*std::move(best));
  }
  return found;
}

/// Each value against the first in the order of `values` that it has matched pairs with; fastest first.
std::vector<Compared> CompareNames(const ResultSet& results, const Metric& throughput, const std::string& property,
                                   const std::vector<Value>& values) {
  std::vector<Compared> found;
  for (size_t i = 1; i < values.size(); ++i) {
    for (size_t baseline = 0; baseline < i; ++baseline) {
      if (auto compared = CompareThroughput(results, throughput, property, values[baseline], values[i])) {
        found.push_back(*std::move(compared));
        break;
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Compared& a, const Compared& b) { return a.effect.ratio > b.effect.ratio; });
  return found;
}

/// Each against the one before it, in the order in which they were first measured; the newest first.
std::vector<Compared> CompareCommits(const ResultSet& results, const Metric& throughput) {
  std::map<Value, std::string> first_measured;
  for (const Configuration& configuration : results.configurations()) {
    const std::string& at = configuration.runs.front()->measured_at;
    std::string& first = first_measured.try_emplace(configuration.At(kCommit), at).first->second;
    first = std::min(first, at);
  }
  std::vector<std::pair<std::string, Value>> by_age;
  for (const auto& [commit, at] : first_measured) {
    by_age.emplace_back(at, commit);
  }
  std::sort(by_age.begin(), by_age.end());
  std::vector<Compared> found;
  for (size_t i = by_age.size(); i-- > 1;) {
    if (auto compared =
            CompareThroughput(results, throughput, std::string(kCommit), by_age[i - 1].second, by_age[i].second)) {
      found.push_back(*std::move(compared));
    }
  }
  return found;
}

std::vector<Compared> CompareValues(const ResultSet& results, const Metric& throughput, const std::string& property) {
  std::vector<Value> values = results.ValuesOf(property);
  if (property == kCommit) {
    return CompareCommits(results, throughput);
  }
  if (std::all_of(values.begin(), values.end(), &IsNumber)) {
    return CompareNumbers(results, throughput, property, values);
  }
  const auto baseline = std::find(values.begin(), values.end(), results.declared().BaselineOf(property));
  if (baseline != values.end()) {
    std::rotate(values.begin(), baseline, baseline + 1);
  }
  return CompareNames(results, throughput, property, values);
}

// What is asked first: the method, then the numbers, then everything else (models, types), machines and commits last.
std::vector<std::string> InOrderOfInterest(const ResultSet& results) {
  std::vector<std::string> properties = results.varying();
  const auto is_condition = [&](const std::string& property) {
    return std::find(results.conditions().begin(), results.conditions().end(), property) != results.conditions().end();
  };
  const auto rank = [&](const std::string& property) {
    return property == kMethod ? 0 : is_condition(property) ? 3 : IsNumber(results.ValuesOf(property).back()) ? 1 : 2;
  };
  std::stable_sort(properties.begin(), properties.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return properties;
}

/// "GPUs 2 with ranks 2".
std::string SideText(const Declared& declared, const Comparison& comparison, const Configuration& side) {
  std::string text = declared.Text(comparison.property, side.At(comparison.property));
  for (const std::string& property : comparison.together) {
    text += " with " + declared.Text(property, side.At(property));
  }
  return text;
}

// "4 matched pairs, which range from 1.12x to 1.45x" or "One matched pair".
std::string PairsText(const Effect& effect) {
  if (effect.pairs == 1) {
    return "One matched pair";
  }
  const std::string range =
      fmt::format("which range from {} to {}", ReadableRatio(effect.low), ReadableRatio(effect.high));
  if (effect.interval) {
    return fmt::format("95 % interval {} to {}, of the geometric mean over {} matched pairs, {}",
                       ReadableRatio(effect.interval->first), ReadableRatio(effect.interval->second), effect.pairs,
                       range);
  }
  return fmt::format("Geometric mean of {} matched pairs, {}", effect.pairs, range);
}

std::string IntervalsText(const Effect& effect) {
  if (effect.with_intervals == 0) {
    return effect.interval ? "" : "; there are no intervals to judge it by";
  }
  if (effect.pairs == 1) {
    return effect.apart == 1 ? "; the intervals do not overlap" : "; the intervals overlap";
  }
  return fmt::format("; the runs' own intervals are apart in {} of {} pairs", effect.apart, effect.pairs);
}

// ". Peak tensor memory: 0.62x; median step time: 2.1x."
std::string SideEffects(const std::vector<MatchedPair>& pairs, const std::vector<Metric>& metrics) {
  std::vector<std::string> parts;
  for (MetricKind kind : {MetricKind::kStepSeconds, MetricKind::kPeakTensorMemory, MetricKind::kPeakResidentMemory}) {
    const Metric* metric = FindMetric(metrics, kind);
    const std::optional<Effect> effect = metric == nullptr ? std::nullopt : EffectOn(pairs, *metric);
    if (effect) {
      parts.push_back(fmt::format("{} {}", metric->title, ReadableRatio(effect->ratio)));
    }
  }
  if (parts.empty()) {
    return ".";
  }
  std::string text = Join(parts, ", ");
  std::transform(text.begin() + 1, text.end(), text.begin() + 1,
                 [](unsigned char c) { return static_cast<char>(c < 0x80 ? std::tolower(c) : c); });
  return fmt::format(". {}.", text);
}

Finding FindingOf(const Declared& declared, const Compared& compared, const std::vector<Metric>& metrics) {
  const Comparison& comparison = compared.comparison;
  const MatchedPair& pair = compared.pairs.front();
  Finding finding;
  finding.strength = StrengthOf(compared.effect);
  finding.headline = fmt::format("Against {}, {} gives {} the throughput.", SideText(declared, comparison, *pair.from),
                                 SideText(declared, comparison, *pair.to), ReadableRatio(compared.effect.ratio));
  finding.detail = fmt::format("{}{}{}{}", PairsText(compared.effect), IntervalsText(compared.effect),
                               SideEffects(compared.pairs, metrics),
                               comparison.together.empty() ? "" : " These were never varied apart.");
  return finding;
}

/// Coordinates outside the comparison.
std::vector<Value> RestOf(const ResultSet& results, const Comparison& comparison, const Configuration& configuration) {
  std::vector<Value> rest;
  for (const std::string& property : results.varying()) {
    if (property != comparison.property &&
        std::ranges::find(comparison.together, property) == comparison.together.end()) {
      rest.push_back(configuration.At(property));
    }
  }
  return rest;
}

bool SamePairs(const std::vector<MatchedPair>& a, const std::vector<MatchedPair>& b) {
  return std::ranges::equal(
      a, b, [](const MatchedPair& x, const MatchedPair& y) { return x.from == y.from && x.to == y.to; });
}

}  // namespace

Comparison Compare(const ResultSet& results, const std::string& property, const Value& from, const Value& to) {
  Comparison comparison = {property, from, to, {}};
  for (const std::string& other : results.varying()) {
    const auto at_from = other == property ? std::nullopt : OnlyValue(results, property, from, other);
    const auto at_to = at_from ? OnlyValue(results, property, to, other) : std::nullopt;
    if (at_to && *at_from != *at_to) {
      comparison.together.push_back(other);
    }
  }
  return comparison;
}

std::vector<MatchedPair> MatchedPairs(const ResultSet& results, const Comparison& comparison) {
  std::map<std::vector<Value>, std::vector<const Configuration*>> from_of_rest;
  for (const Configuration& configuration : results.configurations()) {
    if (configuration.outcome == Outcome::kValid && configuration.At(comparison.property) == comparison.from) {
      from_of_rest[RestOf(results, comparison, configuration)].push_back(&configuration);
    }
  }
  std::vector<MatchedPair> pairs;
  for (const Configuration& configuration : results.configurations()) {
    if (configuration.outcome != Outcome::kValid || configuration.At(comparison.property) != comparison.to) {
      continue;
    }
    for (const Configuration* from : from_of_rest[RestOf(results, comparison, configuration)]) {
      pairs.push_back({from, &configuration});
    }
  }
  return pairs;
}

std::optional<Effect> EffectOn(const std::vector<MatchedPair>& pairs, const Metric& metric) {
  Effect effect;
  std::vector<double> log_ratios;
  for (const MatchedPair& pair : pairs) {
    const std::optional<Estimate> from = EstimateOf(*pair.from, metric);
    const std::optional<Estimate> to = EstimateOf(*pair.to, metric);
    if (from && to && from->value > 0 && to->value > 0) {
      log_ratios.push_back(std::log(to->value / from->value));
      effect.with_intervals += from->has_interval() && to->has_interval() ? 1 : 0;
      effect.apart += Apart(*from, *to) ? 1 : 0;
      effect.within_runs |= from->basis != Basis::kRuns || to->basis != Basis::kRuns;
    }
  }
  if (log_ratios.empty()) {
    return std::nullopt;
  }
  const auto [low, high] = std::minmax_element(log_ratios.begin(), log_ratios.end());
  const measure::MeanEstimate mean = measure::MeanInterval(log_ratios);
  effect.pairs = log_ratios.size();
  effect.ratio = std::exp(mean.mean);
  effect.low = std::exp(*low);
  effect.high = std::exp(*high);
  if (mean.has_interval()) {
    effect.interval = {std::exp(mean.interval.low), std::exp(mean.interval.high)};
  }
  return effect;
}

Strength StrengthOf(const Effect& effect) {
  const Strength clear = effect.within_runs ? Strength::kClearInRuns : Strength::kClear;
  if (effect.interval) {
    return effect.interval->first > 1 || effect.interval->second < 1 ? clear : Strength::kUnclear;
  }
  if (effect.with_intervals == 0) {
    return Strength::kNoInterval;
  }
  const bool one_direction = effect.low > 1 || effect.high < 1;
  if (effect.apart < effect.pairs || !one_direction) {
    return Strength::kUnclear;
  }
  return clear;
}

std::vector<std::vector<Finding>> FindEffects(const ResultSet& results, const std::vector<Metric>& metrics) {
  const Metric* throughput = FindMetric(metrics, MetricKind::kThroughput);
  std::vector<std::vector<Finding>> groups;
  std::vector<std::vector<MatchedPair>> told;  // of properties that change together each has the same pairs
  for (const std::string& property : throughput == nullptr ? std::vector<std::string>() : InOrderOfInterest(results)) {
    std::vector<Finding>& findings = groups.emplace_back();
    for (const Compared& compared : CompareValues(results, *throughput, property)) {
      if (std::ranges::none_of(told, [&](const auto& pairs) { return SamePairs(pairs, compared.pairs); })) {
        findings.push_back(FindingOf(results.declared(), compared, metrics));
        told.push_back(compared.pairs);
      }
    }
  }
  return groups;
}

}  // namespace assay::report
