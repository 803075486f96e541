// A MeasurementFilter as SQL.
#pragma once

#include <string>
#include <vector>

#include "samplestore/sample_store.h"
#include "space/entity.h"

namespace assay::samplestore {

/// The end of a query over `measurements AS m`, and what its parameters are bound to, in order.
struct SqlFilter {
  std::string where;  ///< " WHERE ..." or empty
  std::string order_and_limit;
  std::vector<space::Value> parameters;  ///< of `where`, then of `order_and_limit`
};

SqlFilter ToSql(const MeasurementFilter& filter);

}  // namespace assay::samplestore
