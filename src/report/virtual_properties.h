// Repeated values of a point as one: virtual properties.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/result_set.h"
#include "samplestore/measurement.h"

namespace assay::report {

/// A row of the table: how the values of several runs become one.
struct Aggregation {
  const char* name;
  double (*of)(std::span<const double>);  ///< of one value at least
};

/// mean, median, std, variance, min, max. `std` and `variance` are of these values alone (divided by n), as ado and
/// numpy have them.
std::span<const Aggregation> Aggregations();

/// The rows of these names, in their order; each is one of Aggregations().
std::vector<const Aggregation*> AggregationsOf(std::span<const std::string> names);

struct VirtualProperty {
  std::string target;
  const Aggregation* aggregation = nullptr;
};

/// "dataset_tokens_per_second-mean" as the target and the row; nothing for a name that does not end in one.
std::optional<VirtualProperty> ParseVirtualProperty(const std::string& name);

/// "dataset_tokens_per_second-mean"
std::string VirtualPropertyName(const std::string& target, const Aggregation& aggregation);

/// For each configuration of `results` one measurement: of its last counted run, with a virtual property for each
/// number that runs have and each aggregation, over all runs that count (Configuration::CountedRuns), and `runs`, their
/// number. Where a configuration has no valid run its last one stands as it is. Series are left out.
std::vector<samplestore::Measurement> Aggregated(const ResultSet& results,
                                                 std::span<const Aggregation* const> aggregations);

}  // namespace assay::report
