#include "explore/search/latin_hypercube.h"

#include <algorithm>
#include <numeric>

namespace assay::explore {

std::vector<int64_t> LatinHypercube(const Grid& grid, int64_t count, std::mt19937_64& random) {
  std::vector<std::vector<int64_t>> points(static_cast<size_t>(count), std::vector<int64_t>(grid.axes().size()));
  std::vector<int64_t> strata(static_cast<size_t>(count));
  for (size_t axis = 0; axis < grid.axes().size(); ++axis) {
    const int64_t size = grid.axes()[axis].size;
    // Which values are met once more than others is left to chance.
    const int64_t shift = std::uniform_int_distribution<int64_t>(0, size - 1)(random);
    std::iota(strata.begin(), strata.end(), int64_t{0});
    std::ranges::shuffle(strata, random);
    for (size_t i = 0; i < points.size(); ++i) {
      points[i][axis] = count >= size ? (strata[i] + shift) % size : strata[i] * size / count;
    }
  }
  std::vector<int64_t> positions;
  for (const std::vector<int64_t>& point : points) {
    positions.push_back(grid.PositionOf(point));
  }
  return positions;
}

}  // namespace assay::explore
