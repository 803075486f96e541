#include "report/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <ranges>
#include <set>

#include "base/text.h"
#include "measure/significance.h"
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

/// The only code that the configurations with `code` on `axis` have on `other`; nothing when there are several.
std::optional<uint32_t> OnlyCode(const Axis& axis, uint32_t code, const Axis& other) {
  std::optional<uint32_t> only;
  for (size_t i = 0; i < axis.codes.size(); ++i) {
    if (axis.codes[i] != code) {
      continue;
    }
    if (only.value_or(other.codes[i]) != other.codes[i]) {
      return std::nullopt;
    }
    only = other.codes[i];
  }
  return only;
}

/// What the pairs at one place say: machine, commit and the like tell them apart, so that they count as one.
struct Place {
  std::vector<double> log_ratios;
  std::vector<measure::UncertainMean> sides;  // logarithms of both sides of the pairs that have intervals

  bool has_intervals() const { return sides.size() == 2 * log_ratios.size(); }
  double log_ratio() const { return measure::Mean(log_ratios); }
  /// Of `log_ratio()`: its error is that of all sides, two for each pair.
  measure::UncertainMean Uncertain() const {
    const measure::UncertainMean of_sides = measure::MeanOfMeans(sides);
    return {log_ratio(), 2 * of_sides.standard_error, of_sides.degrees_of_freedom};
  }
};

/// Whether the mean of the ratios differs from 1: nothing where too little is known to tell. Places of which there are
/// more than two are their own sample; of fewer, each side's own error counts.
std::optional<measure::Difference> SignificanceOf(const std::vector<Place>& places) {
  if (std::ssize(places) >= measure::kFewestForInterval) {
    measure::RunningMoments moments;
    std::ranges::for_each(places, [&](const Place& place) { moments.Add(place.log_ratio()); });
    const auto count = static_cast<double>(places.size());
    return measure::TestAgainstZero({moments.mean(), std::sqrt(moments.variance() / count), count - 1});
  }
  if (!std::ranges::all_of(places, &Place::has_intervals)) {
    return std::nullopt;
  }
  std::vector<measure::UncertainMean> means;
  std::ranges::transform(places, std::back_inserter(means), &Place::Uncertain);
  return measure::TestAgainstZero(measure::MeanOfMeans(means));
}

/// By place, those pairs that have the metric on both sides; `effect` learns how far they range.
std::vector<Place> PlacesOf(const std::vector<MatchedPair>& pairs, const auto& estimate_of, Effect& effect) {
  std::map<size_t, Place> places;
  for (const MatchedPair& pair : pairs) {
    const std::optional<Estimate>& from = estimate_of(*pair.from);
    const std::optional<Estimate>& to = estimate_of(*pair.to);
    if (!from || !to || from->value <= 0 || to->value <= 0) {
      continue;
    }
    const double ratio = to->value / from->value;
    effect.low = places.empty() ? ratio : std::min(effect.low, ratio);
    effect.high = places.empty() ? ratio : std::max(effect.high, ratio);
    effect.within_runs |= from->basis != Basis::kRuns || to->basis != Basis::kRuns;
    Place& place = places[pair.place];
    place.log_ratios.push_back(std::log(ratio));
    if (from->has_interval() && to->has_interval()) {
      place.sides.insert(place.sides.end(), {LogarithmOf(*from), LogarithmOf(*to)});
    }
  }
  const auto values = std::views::values(places);
  return {values.begin(), values.end()};
}

/// `estimate_of` gives the estimate of a configuration.
std::optional<Effect> EffectOf(const std::vector<MatchedPair>& pairs, const auto& estimate_of) {
  Effect effect;
  const std::vector<Place> places = PlacesOf(pairs, estimate_of, effect);
  if (places.empty()) {
    return std::nullopt;
  }
  std::vector<double> log_ratios;
  std::vector<size_t> groups;
  for (const Place& place : places) {
    log_ratios.push_back(place.log_ratio());
    groups.push_back(place.log_ratios.size());
  }
  const auto [fewest, most] = std::ranges::minmax(groups);
  effect.pairs = places.size();
  effect.fewest_groups = fewest;
  effect.most_groups = most;
  effect.ratio = std::exp(measure::Mean(log_ratios));
  if (const auto test = SignificanceOf(places)) {
    effect.interval = {std::exp(test->interval.low), std::exp(test->interval.high)};
    // Too few that disagree have a mean, but no effect.
    const bool disagree = effect.low < 1 && effect.high > 1 && effect.pairs < measure::kFewestForInterval;
    effect.p_value = disagree ? 1 : test->p_value;
  }
  return effect;
}

/// One comparison with what it found of the throughput.
struct Compared {
  Comparison comparison;
  std::vector<MatchedPair> pairs;
  Effect effect;
};

std::optional<Effect> EffectAmong(const std::vector<MatchedPair>& pairs, const Estimates& estimates,
                                  const Metric& metric) {
  return EffectOf(pairs, [&](const Configuration& side) -> const auto& { return estimates.Of(side, metric); });
}

/// Pairs whatever their direction and order: what always changes together has the same ones, and so has a comparison
/// the other way round.
using PairSet = std::set<std::pair<size_t, size_t>>;

PairSet PairSetOf(const std::vector<MatchedPair>& pairs) {
  PairSet set;
  for (const MatchedPair& pair : pairs) {
    set.insert(std::minmax(pair.from->index, pair.to->index));
  }
  return set;
}

/// Compares the throughput at values of properties, and counts how many comparisons there were.
class Comparer {
 public:
  Comparer(const ResultSet& results, const Estimates& estimates, const Metric& throughput)
      : results_(results), estimates_(estimates), throughput_(throughput) {}

  const ResultSet& results() const { return results_; }
  size_t comparisons() const { return compared_.size(); }

  std::optional<Compared> operator()(const std::string& property, const Value& from, const Value& to) {
    Comparison comparison = Compare(results_, property, from, to);
    std::vector<MatchedPair> pairs = MatchedPairs(results_, comparison);
    const std::optional<Effect> effect = EffectAmong(pairs, estimates_, throughput_);
    if (!effect) {
      return std::nullopt;
    }
    compared_.insert(PairSetOf(pairs));
    return Compared{std::move(comparison), std::move(pairs), *effect};
  }

 private:
  const ResultSet& results_;
  const Estimates& estimates_;
  const Metric& throughput_;
  std::set<PairSet> compared_;
};

/// Out of memory at one end leaves the next value to compare.
std::vector<Compared> CompareNumbers(Comparer& compare, const std::string& property, const std::vector<Value>& values) {
  std::vector<Compared> found;
  size_t first = 0;
  for (size_t span = values.size() - 1; span > 0 && found.empty(); --span) {
    for (first = 0; first + span < values.size() && found.empty(); ++first) {
      if (auto compared = compare(property, values[first], values[first + span])) {
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
    auto compared = value == from || value == to ? std::nullopt : compare(property, from, value);
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
std::vector<Compared> CompareNames(Comparer& compare, const std::string& property, const std::vector<Value>& values) {
  std::vector<Compared> found;
  for (size_t i = 1; i < values.size(); ++i) {
    for (size_t baseline = 0; baseline < i; ++baseline) {
      if (auto compared = compare(property, values[baseline], values[i])) {
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
std::vector<Compared> CompareCommits(Comparer& compare) {
  std::map<Value, std::string> first_measured;
  for (const Configuration& configuration : compare.results().configurations()) {
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
    if (auto compared = compare(std::string(kCommit), by_age[i - 1].second, by_age[i].second)) {
      found.push_back(*std::move(compared));
    }
  }
  return found;
}

std::vector<Compared> CompareValues(Comparer& compare, const std::string& property) {
  std::vector<Value> values = compare.results().ValuesOf(property);
  if (property == kCommit) {
    return CompareCommits(compare);
  }
  if (std::all_of(values.begin(), values.end(), &IsNumber)) {
    return CompareNumbers(compare, property, values);
  }
  const auto baseline = std::find(values.begin(), values.end(), compare.results().declared().BaselineOf(property));
  if (baseline != values.end()) {
    std::rotate(values.begin(), baseline, baseline + 1);
  }
  return CompareNames(compare, property, values);
}

bool IsCondition(const ResultSet& results, const std::string& property) {
  return std::ranges::find(results.conditions(), property) != results.conditions().end();
}

// What is asked first: the method, then the numbers, then everything else (models, types), machines and commits last.
std::vector<std::string> InOrderOfInterest(const ResultSet& results) {
  std::vector<std::string> properties = results.varying();
  const auto rank = [&](const std::string& property) {
    return property == kMethod                           ? 0
           : IsCondition(results, property)              ? 3
           : IsNumber(results.ValuesOf(property).back()) ? 1
                                                         : 2;
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

/// "the geometric mean over 4 matched pairs, each under 2 conditions, which range from 1.12x to 1.45x".
std::string SampleText(const Effect& effect) {
  std::string text =
      effect.pairs == 1 ? "one matched pair" : fmt::format("the geometric mean over {} matched pairs", effect.pairs);
  if (effect.most_groups > 1) {
    const std::string fewest =
        effect.fewest_groups < effect.most_groups ? fmt::format("{} to ", effect.fewest_groups) : "";
    text += fmt::format(", {}under {}{} conditions", effect.pairs == 1 ? "" : "each ", fewest, effect.most_groups);
  }
  if (effect.pairs > 1 || effect.most_groups > 1) {
    text += fmt::format(", which range from {} to {}", ReadableRatio(effect.low), ReadableRatio(effect.high));
  }
  return text;
}

/// "95 % interval 1.10x to 1.30x, of the geometric mean over 4 matched pairs, which range from 1.12x to 1.45x".
std::string PairsText(const Effect& effect) {
  return effect.interval ? fmt::format("95 % interval {} to {}, of {}", ReadableRatio(effect.interval->first),
                                       ReadableRatio(effect.interval->second), SampleText(effect))
                         : fmt::format("{}; there are no intervals to judge it by", Capitalized(SampleText(effect)));
}

/// "0.62x (95 % interval 0.60x to 0.64x)"
std::string RatioText(const Effect& effect) {
  return fmt::format("{} ({})", ReadableRatio(effect.ratio),
                     effect.interval ? fmt::format("95 % interval {} to {}", ReadableRatio(effect.interval->first),
                                                   ReadableRatio(effect.interval->second))
                                     : "no interval");
}

// ". Peak tensor memory 0.62x (95 % interval 0.60x to 0.64x), median step time 2.1x (no interval)."
std::string SideEffects(const std::vector<MatchedPair>& pairs, const std::vector<Metric>& metrics,
                        const Estimates& estimates) {
  std::vector<std::string> parts;
  for (MetricKind kind : {MetricKind::kStepSeconds, MetricKind::kPeakTensorMemory, MetricKind::kPeakResidentMemory}) {
    const Metric* metric = FindMetric(metrics, kind);
    const std::optional<Effect> effect = metric == nullptr ? std::nullopt : EffectAmong(pairs, estimates, *metric);
    if (effect) {
      parts.push_back(fmt::format("{} {}", metric->title, RatioText(*effect)));
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

Finding FindingOf(const Declared& declared, const Compared& compared, const std::vector<Metric>& metrics,
                  const Estimates& estimates) {
  const Comparison& comparison = compared.comparison;
  const MatchedPair& pair = compared.pairs.front();
  Finding finding;
  finding.strength = Strength::kNoInterval;
  finding.comparison = comparison;
  finding.p_value = compared.effect.p_value;
  finding.within_runs = compared.effect.within_runs;
  finding.headline = fmt::format("Against {}, {} gives {} the throughput.", SideText(declared, comparison, *pair.from),
                                 SideText(declared, comparison, *pair.to), ReadableRatio(compared.effect.ratio));
  finding.detail = fmt::format("{}{}{}", PairsText(compared.effect), SideEffects(compared.pairs, metrics, estimates),
                               comparison.together.empty() ? "" : " These were never varied apart.");
  return finding;
}

/// Where a configuration stands on the axes outside the comparison.
std::vector<uint32_t> RestOf(const std::vector<const Axis*>& rest, size_t configuration) {
  std::vector<uint32_t> codes;
  codes.reserve(rest.size());
  for (const Axis* axis : rest) {
    codes.push_back(axis->codes[configuration]);
  }
  return codes;
}

std::vector<const Axis*> AxesOutside(const ResultSet& results, const Comparison& comparison) {
  std::vector<const Axis*> rest;
  for (const Axis& axis : results.axes()) {
    if (axis.property != comparison.property &&
        std::ranges::find(comparison.together, axis.property) == comparison.together.end()) {
      rest.push_back(&axis);
    }
  }
  return rest;
}

}  // namespace

Comparison Compare(const ResultSet& results, const std::string& property, const Value& from, const Value& to) {
  Comparison comparison = {property, from, to, {}};
  const Axis* axis = results.AxisOf(property);
  for (const Axis& other : results.axes()) {
    const bool is_other = axis != nullptr && &other != axis;
    const auto at_from = is_other ? OnlyCode(*axis, axis->CodeOf(from), other) : std::nullopt;
    const auto at_to = at_from ? OnlyCode(*axis, axis->CodeOf(to), other) : std::nullopt;
    if (at_to && *at_from != *at_to) {
      comparison.together.push_back(other.property);
    }
  }
  return comparison;
}

std::vector<MatchedPair> MatchedPairs(const ResultSet& results, const Comparison& comparison) {
  std::vector<MatchedPair> pairs;
  const Axis* axis = results.AxisOf(comparison.property);
  if (axis == nullptr) {
    return pairs;
  }
  const std::vector<const Axis*> rest = AxesOutside(results, comparison);
  const auto at = [&](const Configuration& configuration, uint32_t code) {
    return configuration.outcome == Outcome::kValid && axis->codes[configuration.index] == code;
  };
  const uint32_t from_code = axis->CodeOf(comparison.from);
  const uint32_t to_code = axis->CodeOf(comparison.to);
  std::vector<const Axis*> unconditional = rest;
  std::erase_if(unconditional, [&](const Axis* other) { return IsCondition(results, other->property); });
  std::map<std::vector<uint32_t>, size_t> places;
  std::map<std::vector<uint32_t>, std::vector<const Configuration*>> from_of_rest;
  for (const Configuration& configuration : results.configurations()) {
    if (at(configuration, from_code)) {
      from_of_rest[RestOf(rest, configuration.index)].push_back(&configuration);
    }
  }
  for (const Configuration& configuration : results.configurations()) {
    if (!at(configuration, to_code)) {
      continue;
    }
    for (const Configuration* from : from_of_rest[RestOf(rest, configuration.index)]) {
      const auto place = places.try_emplace(RestOf(unconditional, configuration.index), places.size()).first;
      pairs.push_back({from, &configuration, place->second});
    }
  }
  return pairs;
}

std::optional<Effect> EffectOn(const std::vector<MatchedPair>& pairs, const Metric& metric) {
  return EffectOf(pairs, [&](const Configuration& side) { return EstimateOf(side, metric); });
}

Effects FindEffects(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates) {
  Effects effects;
  const Metric* throughput = FindMetric(metrics, MetricKind::kThroughput);
  if (throughput == nullptr) {
    return effects;
  }
  Comparer compare(results, estimates, *throughput);
  std::set<PairSet> told;
  for (const std::string& property : InOrderOfInterest(results)) {
    std::vector<Finding>& findings = effects.groups.emplace_back();
    for (const Compared& compared : CompareValues(compare, property)) {
      if (told.insert(PairSetOf(compared.pairs)).second) {
        findings.push_back(FindingOf(results.declared(), compared, metrics, estimates));
      }
    }
  }
  effects.comparisons = compare.comparisons();
  return effects;
}

}  // namespace assay::report
