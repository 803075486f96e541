// What a space is like: how speed scales with ranks, what each property does, and what nothing beats.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/effect.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// The numeric property that counts GPUs or ranks, where it varies; else nullptr.
const Axis* RanksAxis(const ResultSet& results);

/// What more ranks give, from pairs that differ in nothing else.
struct ScalingStep {
  Comparison comparison;  ///< the fewest ranks, and more
  Effect speedup;
  double efficiency = 1;                              ///< of the speed-up that as many times the ranks would give
  std::optional<std::pair<double, double>> interval;  ///< of it, at 95 %
  std::optional<double> adjusted_p_value;             ///< of no speed-up, among all steps (Holm)
};

/// In the order of the ranks; empty where no throughput was measured at two numbers of them.
std::vector<ScalingStep> FindScaling(const ResultSet& results, const std::vector<Metric>& metrics);

/// As it is kept with an operation:
///
///     points, valid, comparisons      of configurations; what findings are corrected for
///     scaling: [{property, from, to, pairs, speedup, efficiency, interval, adjusted_p}]
///     pairs: [{property, from, to, headline, detail, strength, p, adjusted_p}]    report/findings.h
///     fronts: [{x, y, configurations: [{label, x, y}]}]                           report/pareto.h
///     resources: {metrics, configurations: [{label, values}], unknown}
///                                     the same of speed, memory and energy; `unknown`: configurations without energy
///     resources: {missing: [NAME]}    where one of the three was not measured of any; null in older ones
nlohmann::json CharacterizationJson(const ResultSet& results);

/// The same for people; empty where `characterization` is of another form, which somebody else's may be.
std::string CharacterizationText(const nlohmann::json& characterization);

}  // namespace assay::report
