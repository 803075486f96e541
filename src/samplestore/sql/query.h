// A MeasurementFilter as SQL.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "samplestore/sample_store.h"
#include "samplestore/sql/connection.h"
#include "samplestore/sql/dictionary.h"

namespace assay::samplestore {

/// "SELECT arrival ...": the measurements of a filter, for a FROM clause.
struct ArrivalQuery {
  std::string unordered;
  std::string order;
  std::string limit;  ///< with parameters, as `unordered` has them
  std::vector<std::variant<int64_t, std::string>> parameters;

  void BindTo(Statement& statement) const;
};

/// Looks up the terms of `filter`; of several the one that the fewest measurements bear is gone through, newest or
/// oldest first, and the others are looked up for each. `page_end` beyond 0: from there on, where the page before it
/// ended.
Result<ArrivalQuery> QueryOf(const MeasurementFilter& filter, int64_t page_end, Connection& connection,
                             Dictionary& dictionary);

}  // namespace assay::samplestore
