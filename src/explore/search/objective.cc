#include "explore/search/objective.h"

#include <cmath>

namespace assay::explore {

double RatioScale(double amount) {
  constexpr double kNothing = 1e-12;  // less than what is measured of any quantity but zero
  return std::asinh(amount / kNothing);
}

}  // namespace assay::explore
