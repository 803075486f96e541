#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"
#include "measure/significance.h"
#include "report/cell_state.h"
#include "report/conditions.h"
#include "report/effect.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

constexpr double kSignificant = 0.05;
constexpr size_t kMaxEffects = 24;
constexpr size_t kMaxFastest = 6;
constexpr size_t kMaxReasons = 3;

struct Ranked {
  const Configuration* configuration;
  Estimate estimate;
};

std::vector<Ranked> Rank(const ResultSet& results, const Estimates& estimates, const Metric& metric) {
  std::vector<Ranked> ranked;
  for (const Configuration& configuration : results.configurations()) {
    if (const std::optional<Estimate>& estimate = estimates.Of(configuration, metric)) {
      ranked.push_back({&configuration, *estimate});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.estimate.value > b.estimate.value; });
  return ranked;
}

// What an interval from within one run leaves open.
std::string RunCaveat(const std::vector<Ranked>& ranked) {
  const bool repeated = std::all_of(ranked.begin(), ranked.end(), [](const Ranked& entry) {
    return entry.estimate.basis != Basis::kReported && (entry.estimate.has_interval() || entry.estimate.samples > 1);
  });
  return repeated ? ""
                  : fmt::format(" {}: how much a second run would differ was not measured.",
                                ranked.size() == 1 ? "One run" : "One run each");
}

/// The first by the second, where both have an interval.
std::optional<measure::Difference> LeadOf(const std::vector<Ranked>& ranked) {
  if (ranked.size() < 2 || !ranked[0].estimate.has_interval() || !ranked[1].estimate.has_interval()) {
    return std::nullopt;
  }
  return measure::CompareMeans(LogarithmOf(ranked[1].estimate), LogarithmOf(ranked[0].estimate));
}

// " 1.40x the next, lora, batch size 2, at 5,019: 95 % interval 1.31x to 1.49x."
std::string AgainstNext(const ResultSet& results, const std::vector<Ranked>& ranked,
                        const std::optional<measure::Difference>& lead) {
  const Ranked& next = ranked[1];
  const std::string name =
      fmt::format("the next, {}, at {}", results.Label(*next.configuration), Readable(next.estimate.value));
  return lead ? fmt::format(" {} {}: 95 % interval {} to {}.", ReadableRatio(std::exp(lead->difference)), name,
                            ReadableRatio(std::exp(lead->interval.low)), ReadableRatio(std::exp(lead->interval.high)))
              : fmt::format(" Nothing tells whether it is ahead of {}, by more than noise.", name);
}

/// The lead over the next, corrected for all that might have come first (Bonferroni).
void TakeLead(const std::vector<Ranked>& ranked, const std::optional<measure::Difference>& lead, Finding& finding) {
  finding.strength = ranked.size() > 1 ? Strength::kNoInterval : Strength::kFact;
  if (lead) {
    finding.p_value = std::min(1.0, lead->p_value * static_cast<double>(ranked.size() - 1));
    finding.within_runs = ranked[0].estimate.basis != Basis::kRuns || ranked[1].estimate.basis != Basis::kRuns;
  }
}

Finding Fastest(const ResultSet& results, const Metric& throughput, const std::vector<Ranked>& ranked) {
  const Ranked& first = ranked.front();
  const std::optional<measure::Difference> lead = LeadOf(ranked);
  Finding finding;
  TakeLead(ranked, lead, finding);
  finding.configurations = {first.configuration->index};
  finding.headline =
      fmt::format("{}{}{} {} {}.", ranked.size() == 1 ? "" : "Fastest: ", results.Label(*first.configuration),
                  ranked.size() == 1 ? ":" : ", with", Readable(first.estimate.value), throughput.unit);
  finding.detail = Capitalized(IntervalText(first.estimate)) + ".";
  if (ranked.size() > 1) {
    finding.detail += AgainstNext(results, ranked, lead);
    finding.configurations.push_back(ranked[1].configuration->index);
  }
  finding.detail += RunCaveat(ranked);
  return finding;
}

/// One for each machine and commit: across them a rank says nothing about the configurations.
void AddFastest(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates,
                std::vector<Finding>& findings) {
  const Metric* throughput = FindMetric(metrics, MetricKind::kThroughput);
  std::vector<std::vector<Ranked>> groups;
  for (const Ranked& entry : throughput == nullptr ? std::vector<Ranked>() : Rank(results, estimates, *throughput)) {
    const auto same = [&](const std::vector<Ranked>& group) {
      return std::ranges::all_of(results.conditions(), [&](const std::string& condition) {
        return group.front().configuration->At(condition) == entry.configuration->At(condition);
      });
    };
    const auto found = std::ranges::find_if(groups, same);
    (found == groups.end() ? groups.emplace_back() : *found).push_back(entry);
  }
  for (size_t i = 0; i < std::min(groups.size(), kMaxFastest); ++i) {
    findings.push_back(Fastest(results, *throughput, groups[i]));
  }
  if (groups.size() > kMaxFastest) {
    const std::string more = Count(groups.size() - kMaxFastest, "more combination");
    findings.push_back({.headline = fmt::format("The table has {} of machine and commit.", more)});
  }
}

/// Every property has its turn before any has a second one; what is left out is counted.
/// Returns how many comparisons were looked at.
size_t AddEffects(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates,
                  std::vector<Finding>& findings) {
  const auto [groups, comparisons] = FindEffects(results, metrics, estimates);
  std::vector<size_t> taken(groups.size());
  size_t total = 0;
  size_t shown = 0;
  for (const auto& group : groups) {
    total += group.size();
  }
  for (size_t turn = 0; shown < std::min(total, kMaxEffects); ++turn) {
    for (size_t i = 0; i < groups.size(); ++i) {
      const bool takes = turn < groups[i].size() && shown < kMaxEffects;
      taken[i] += takes ? 1 : 0;
      shown += takes ? 1 : 0;
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    findings.insert(findings.end(), groups[i].begin(), groups[i].begin() + static_cast<ptrdiff_t>(taken[i]));
  }
  if (total > shown) {
    findings.push_back({.headline = fmt::format("Not listed here: {}.", Count(total - shown, "more comparison"))});
  }
  return comparisons;
}

// "0.0123", "below 0.001".
std::string ProbabilityText(double p) {
  return p < 0.001 ? "below 0.001" : fmt::format("{:.2g}", p);
}

/// Says of each comparison whether it is clear among all that were looked at.
void Judge(Findings& findings) {
  std::vector<double> p_values;
  for (const Finding& finding : findings.list) {
    if (finding.p_value) {
      p_values.push_back(*finding.p_value);
    }
  }
  const std::vector<double> adjusted = measure::HolmAdjusted(p_values, static_cast<int64_t>(findings.comparisons));
  size_t next = 0;
  for (Finding& finding : findings.list) {
    if (!finding.p_value) {
      continue;
    }
    finding.adjusted_p_value = adjusted[next++];
    finding.strength = *finding.adjusted_p_value >= kSignificant ? Strength::kUnclear
                       : finding.within_runs                     ? Strength::kClearInRuns
                                                                 : Strength::kClear;
    if (*finding.p_value < kSignificant && finding.strength == Strength::kUnclear) {
      finding.detail += fmt::format(" By itself it would look clear (p {}); among {} it does not (p {}).",
                                    ProbabilityText(*finding.p_value), Count(findings.comparisons, "comparison"),
                                    ProbabilityText(*finding.adjusted_p_value));
    }
  }
}

std::optional<Finding> MostMemory(const ResultSet& results, const std::vector<Metric>& metrics,
                                  const Estimates& estimates) {
  const Metric* tensor = FindMetric(metrics, MetricKind::kPeakTensorMemory);
  const Metric* resident = FindMetric(metrics, MetricKind::kPeakResidentMemory);
  const Metric* metric = tensor != nullptr ? tensor : resident;
  const std::vector<Ranked> ranked = metric == nullptr ? std::vector<Ranked>() : Rank(results, estimates, *metric);
  if (ranked.empty()) {
    return std::nullopt;
  }
  const Ranked& most = ranked.front();
  const Ranked& least = ranked.back();
  Finding finding;
  finding.headline = ranked.size() == 1
                         ? fmt::format("{}: {} GiB.", metric->title, Readable(most.estimate.value))
                         : fmt::format("{}: from {} GiB ({}) to {} GiB ({}).", metric->title,
                                       Readable(least.estimate.value), results.Label(*least.configuration),
                                       Readable(most.estimate.value), results.Label(*most.configuration));
  finding.configurations = {least.configuration->index, most.configuration->index};
  if (tensor != nullptr && resident != nullptr) {
    if (const std::optional<Estimate>& rss = estimates.Of(*most.configuration, *resident)) {
      finding.detail = fmt::format("{} resident memory of that process: {} GiB.",
                                   ranked.size() == 1 ? "Peak" : "At the largest, peak", Readable(rss->value));
    }
  }
  return finding;
}

std::optional<Finding> Padding(const ResultSet& results) {
  const auto real_targets = results.TargetsOf(MetricKind::kRealTokens);
  const auto padded_targets = results.TargetsOf(MetricKind::kPaddedTokens);
  if (real_targets.empty() || padded_targets.empty()) {
    return std::nullopt;
  }
  double real = 0;
  double padded = 0;
  for (const Measurement& run : results.measurements()) {
    const std::optional<double> run_real = NumberOf(real_targets, run);
    const std::optional<double> run_padded = NumberOf(padded_targets, run);
    if (run.outcome == Outcome::kValid && run_real && run_padded) {
      real += *run_real;
      padded += *run_padded;
    }
  }
  if (real <= 0) {
    return std::nullopt;
  }
  Finding finding;
  finding.headline = padded > 0
                         ? fmt::format("No padding was computed; a padding collator would have fed {} % more tokens.",
                                       Readable(100 * padded / real))
                         : "No padding was computed, and none would have been: all rows of a batch were equally long.";
  finding.detail =
      fmt::format("{} real tokens were fed over all runs, {} of padding saved.", Readable(real), Readable(padded));
  return finding;
}

/// Their times count only where there are no others, and a reader must know where that is.
std::optional<Finding> Starved(const ResultSet& results) {
  size_t valid = 0;
  size_t starved = 0;
  std::vector<std::string> labels;
  for (const Configuration& configuration : results.configurations()) {
    const auto runs = configuration.ValidRuns();
    valid += runs.size();
    starved +=
        static_cast<size_t>(std::ranges::count_if(runs, [](const Measurement* run) { return WasStarved(*run); }));
    if (configuration.IsStarved()) {
      labels.push_back(results.Label(configuration));
    }
  }
  if (starved == 0) {
    return std::nullopt;
  }
  Finding finding;
  finding.headline = fmt::format("{} of {} waited for processors.", starved, Count(valid, "valid run"));
  const size_t more = labels.size() > kMaxReasons ? labels.size() - kMaxReasons : 0;
  labels.resize(labels.size() - more);
  finding.detail =
      "For more than a tenth of their time others had the processors, so that they are slower than this machine is. "
      "Where a configuration has other runs, they are left out of its values";
  finding.detail +=
      labels.empty()
          ? ", as everywhere here."
          : fmt::format("; these have none, measure them again (assay run --again): {}{}.", Join(labels, "; "),
                        more > 0 ? fmt::format("; and {}", Count(more, "other configuration")) : "");
  return finding;
}

bool HasEndedEarly(const Configuration& configuration) {
  return StateOf(configuration) == CellState::kEndedEarly;
}

// "3 x out of memory ...; 1 x ..."
std::string ReasonsText(const ResultSet& results) {
  std::map<std::string, size_t> count_of;
  for (const Configuration& configuration : results.configurations()) {
    if (configuration.outcome != Outcome::kValid && !HasEndedEarly(configuration)) {
      ++count_of[fmt::format("{} ({})", Shorten(configuration.reason(), 120),
                             samplestore::ToString(configuration.outcome))];
    }
  }
  std::vector<std::pair<std::string, size_t>> reasons(count_of.begin(), count_of.end());
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  if (reasons.empty()) {
    return text;
  }
  for (size_t i = 0; i < std::min(reasons.size(), kMaxReasons); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", reasons[i].second, reasons[i].first);
  }
  const size_t more = reasons.size() > kMaxReasons ? reasons.size() - kMaxReasons : 0;
  return text + (more > 0 ? fmt::format("; and {}.", Count(more, "other reason")) : ".");
}

std::optional<Finding> NotMeasured(const ResultSet& results) {
  const size_t total = results.configurations().size();
  const size_t invalid = results.CountOf(Outcome::kInvalid);
  const auto early = static_cast<size_t>(std::ranges::count_if(results.configurations(), HasEndedEarly));
  const size_t failed = results.CountOf(Outcome::kFailed) - early;
  const size_t without = invalid + failed + early;
  if (without == 0) {
    return std::nullopt;
  }
  std::vector<std::string> parts;
  for (const auto& [count, is] : {std::pair(invalid, "invalid"), {failed, "failed"}, {early, "ended early"}}) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", count, is));
    }
  }
  const std::string what =
      invalid == without ? fmt::format("{} {} invalid", invalid, invalid == 1 ? "is" : "are") : Join(parts, ", ");
  Finding finding;
  finding.headline = without == total
                         ? fmt::format("No configuration could be measured: {}.", what)
                         : fmt::format("{} of {} configurations have no values: {}.", without, total, what);
  finding.detail = ReasonsText(results);
  return finding;
}

}  // namespace

Findings FindFindings(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates) {
  Findings findings;
  const auto add = [&](std::optional<Finding> finding) {
    if (finding) {
      findings.list.push_back(*std::move(finding));
    }
  };
  AddFastest(results, metrics, estimates, findings.list);
  findings.comparisons = static_cast<size_t>(
      std::ranges::count_if(findings.list, [](const Finding& finding) { return finding.configurations.size() > 1; }));
  findings.comparisons += AddEffects(results, metrics, estimates, findings.list);
  Judge(findings);
  add(Starved(results));
  add(MostMemory(results, metrics, estimates));
  add(Padding(results));
  add(NotMeasured(results));
  return findings;
}

std::string_view ToString(Strength strength) {
  switch (strength) {
    case Strength::kFact:
      return "counted";
    case Strength::kClear:
      return "clear";
    case Strength::kClearInRuns:
      return "clear in these runs";
    case Strength::kUnclear:
      return "within the noise";
    case Strength::kNoInterval:
      return "no interval";
  }
  return "";
}

}  // namespace assay::report
