#include "report/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Outcome;
using space::Value;

bool AgreesBut(const ResultSet& results, const std::string& property, const Configuration& a, const Configuration& b) {
  return std::all_of(results.varying().begin(), results.varying().end(),
                     [&](const std::string& other) { return other == property || a.At(other) == b.At(other); });
}

constexpr size_t kPairsForInterval = 3;

struct Comparison {
  Value from;
  Value to;
};

bool IsNumber(const Value& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

/// What others are naturally compared with; None: nothing in particular.
Value BaselineOf(const std::string& property) {
  if (property == kMethod) {
    return std::string("full");
  }
  return property == "plugin" ? Value(std::string("torch_ddp")) : Value();
}

std::vector<Comparison> ComparisonsOf(const ResultSet& results, const std::string& property) {
  std::vector<Value> values = results.ValuesOf(property);
  if (std::all_of(values.begin(), values.end(), &IsNumber)) {
    return {{values.front(), values.back()}};
  }
  const auto baseline = std::find(values.begin(), values.end(), BaselineOf(property));
  if (baseline != values.end()) {
    std::rotate(values.begin(), baseline, baseline + 1);
  }
  std::vector<Comparison> comparisons;
  for (size_t i = 1; i < values.size(); ++i) {
    comparisons.push_back({values.front(), values[i]});
  }
  return comparisons;
}

// What is asked first: the method, then the numbers, then everything else (models, types).
std::vector<std::string> InOrderOfInterest(const ResultSet& results) {
  std::vector<std::string> properties = results.varying();
  const auto rank = [&](const std::string& property) {
    return property == kMethod ? 0 : IsNumber(results.ValuesOf(property).back()) ? 1 : 2;
  };
  std::stable_sort(properties.begin(), properties.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return properties;
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

std::optional<Finding> EffectOf(const ResultSet& results, const std::vector<Metric>& metrics,
                                const std::string& property, const Comparison& comparison) {
  const Metric* throughput = FindMetric(metrics, MetricKind::kThroughput);
  const auto pairs = MatchedPairs(results, property, comparison.from, comparison.to);
  const std::optional<Effect> effect = throughput == nullptr ? std::nullopt : EffectOn(pairs, *throughput);
  if (!effect) {
    return std::nullopt;
  }
  Finding finding;
  finding.strength = StrengthOf(*effect);
  finding.headline = fmt::format("Against {}, {} gives {} the throughput.", CoordinateText(property, comparison.from),
                                 CoordinateText(property, comparison.to), ReadableRatio(effect->ratio));
  finding.detail = fmt::format("{}{}{}", PairsText(*effect), IntervalsText(*effect), SideEffects(pairs, metrics));
  return finding;
}

}  // namespace

std::vector<MatchedPair> MatchedPairs(const ResultSet& results, const std::string& property, const Value& from,
                                      const Value& to) {
  std::vector<MatchedPair> pairs;
  for (const Configuration& a : results.configurations()) {
    for (const Configuration& b : results.configurations()) {
      if (a.outcome == Outcome::kValid && b.outcome == Outcome::kValid && a.At(property) == from &&
          b.At(property) == to && AgreesBut(results, property, a, b)) {
        pairs.push_back({&a, &b});
      }
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
    }
  }
  if (log_ratios.empty()) {
    return std::nullopt;
  }
  const auto [low, high] = std::minmax_element(log_ratios.begin(), log_ratios.end());
  const double mean = MeanOf(log_ratios);
  effect.pairs = log_ratios.size();
  effect.ratio = std::exp(mean);
  effect.low = std::exp(*low);
  effect.high = std::exp(*high);
  if (effect.pairs >= kPairsForInterval) {
    const double half_width = *MeanHalfWidth(log_ratios);
    effect.interval = {std::exp(mean - half_width), std::exp(mean + half_width)};
  }
  return effect;
}

Strength StrengthOf(const Effect& effect) {
  if (effect.interval) {
    return effect.interval->first > 1 || effect.interval->second < 1 ? Strength::kClear : Strength::kUnclear;
  }
  if (effect.with_intervals == 0) {
    return Strength::kNoInterval;
  }
  const bool one_direction = effect.low > 1 || effect.high < 1;
  return effect.apart == effect.pairs && one_direction ? Strength::kClear : Strength::kUnclear;
}

std::vector<Finding> FindEffects(const ResultSet& results, const std::vector<Metric>& metrics) {
  std::vector<Finding> findings;
  for (const std::string& property : InOrderOfInterest(results)) {
    for (const Comparison& comparison : ComparisonsOf(results, property)) {
      if (std::optional<Finding> finding = EffectOf(results, metrics, property, comparison)) {
        findings.push_back(*std::move(finding));
      }
    }
  }
  return findings;
}

}  // namespace assay::report
