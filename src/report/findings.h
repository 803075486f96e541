// What the measurements say, in sentences, each with how far it can be trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/estimates.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

enum class Strength {
  kFact,         ///< counted, nothing to be sure about
  kClear,        ///< a test excludes that there is no difference, among all comparisons that were made
  kClearInRuns,  ///< here too, but it stands on single runs: how much another would differ is unknown
  kUnclear,      ///< it does not
  kNoInterval,   ///< there is no interval to judge by
};

/// Two values of a property, and the properties that change with it because they were never varied apart (GPUs and
/// ranks): what is found is said of all of them together.
struct Comparison {
  std::string property;
  space::Value from;
  space::Value to;
  std::vector<std::string> together;  ///< other varying properties with one value at `from` and another at `to`
};

struct Finding {
  Strength strength = Strength::kFact;
  std::string headline = {};                    ///< one sentence
  std::string detail = {};                      ///< what it rests on
  std::optional<Comparison> comparison = {};    ///< that it tells of
  std::vector<size_t> configurations = {};      ///< the single ones that it names
  std::optional<double> p_value = {};           ///< of a comparison by itself; nothing: it cannot be tested
  std::optional<double> adjusted_p_value = {};  ///< among all comparisons that were looked at
  bool within_runs = false;                     ///< a value among those compared is no mean of repeated runs
};

struct Findings {
  std::vector<Finding> list;  ///< most important first
  size_t comparisons = 0;     ///< that were looked at, told or not: what each is corrected for
};

/// The fastest of each machine and commit, the effects (report/effect.h), memory, padding, and what has no values.
/// Comparisons are judged at 95 % among all that were looked at (Holm); what rests on single runs is said to. What is
/// left out of a long list is counted.
Findings FindFindings(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates);

/// "clear", "within the noise", ...: for a badge.
std::string_view ToString(Strength strength);

}  // namespace assay::report
