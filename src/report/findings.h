// What the measurements say, in sentences, each with how far it can be trusted.
#pragma once

#include <string>
#include <vector>

#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

enum class Strength {
  kFact,         ///< counted, nothing to be sure about
  kClear,        ///< the intervals do not overlap
  kClearInRuns,  ///< nor do they here, but they stand on single runs: how much another would differ is unknown
  kUnclear,      ///< they overlap, at least in part
  kNoInterval,   ///< there is no interval to judge by
};

struct Finding {
  Strength strength = Strength::kFact;
  std::string headline;  ///< one sentence
  std::string detail;    ///< what it rests on
};

/// Most important first: the fastest of each machine and commit, the effects (report/effect.h), memory, padding, and
/// what has no values. Never claims more than the intervals; those from within single runs are said to be so. What is
/// left out of a long list is counted.
std::vector<Finding> FindFindings(const ResultSet& results, const std::vector<Metric>& metrics);

/// "clear", "within the noise", ...: for a badge.
std::string_view ToString(Strength strength);

}  // namespace assay::report
