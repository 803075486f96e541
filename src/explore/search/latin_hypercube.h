// Points that cover every axis of a grid evenly.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "explore/search/grid.h"

namespace assay::explore {

/// `count` positions, of which some may be the same where axes have few values: on every axis each value is met equally
/// often, to within one (McKay, Beckman and Conover, Technometrics 21, 1979, on a grid).
std::vector<int64_t> LatinHypercube(const Grid& grid, int64_t count, std::mt19937_64& random);

}  // namespace assay::explore
