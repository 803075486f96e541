// Which of a step's rows each data rank trains on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::engine {

/// Deals a step's rows to `ranks`: as many to each, within one, and like numbers of tokens, so that none waits long for
/// the others. `tokens[i]` is the length of row i. Returns the places in `tokens` of each rank's rows, ascending; the
/// same on every rank. The longest row goes first, always to the rank with the fewest tokens that may take one more
/// (Graham 1969, "Bounds on Multiprocessing Timing Anomalies").
std::vector<std::vector<int64_t>> deal_rows(std::span<const int64_t> tokens, int64_t ranks);

}  // namespace assay::engine
