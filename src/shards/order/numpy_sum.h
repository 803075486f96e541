// Sums that round as numpy's do.
#pragma once

#include <span>

namespace assay::shards {

/// numpy.sum() of doubles that lie one behind the other: pairwise, in blocks of 128 with eight running sums
/// (numpy/_core/src/umath/loops_utils.h.src).
double NumpySum(std::span<const double> values);

}  // namespace assay::shards
