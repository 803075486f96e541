// What a series costs in every step beyond a baseline, however small the batch, beside what somebody published of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/cost_model.h"
#include "report/result_set.h"

namespace assay::report {

struct FixedCost {
  const CostLine* line = nullptr;
  const CostLine* baseline = nullptr;  ///< the series that differs from it in the property alone
  double beyond_seconds = 0;           ///< fixed cost minus the baseline's
  double half_width_seconds = 0;       ///< of its 95 % interval; infinite below three batch sizes
  double published_seconds = 0;
  double scaled_seconds = 0;  ///< published x our baseline's step / the published one
};

/// A row for each line that something was published of and that has a baseline. Keeps pointers into `lines`.
std::vector<FixedCost> CompareFixedCosts(const ResultSet& results, const std::vector<CostLine>& lines,
                                         const experiment::PublishedFixedCosts& published);

}  // namespace assay::report
