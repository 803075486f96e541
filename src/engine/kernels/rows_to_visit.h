// Which rows of a packed batch an operation that goes row by row has to compute.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace assay::engine {

/// All rows between `row_offsets`; where `x` has no storage (a step on shapes) the longest alone, which takes the most.
inline std::vector<size_t> rows_to_visit(const at::Tensor& x, const std::vector<int64_t>& row_offsets) {
  std::vector<size_t> rows(row_offsets.size() - 1);
  std::iota(rows.begin(), rows.end(), size_t{0});
  if (x.is_meta()) {
    size_t longest = 0;
    for (const size_t row : rows) {
      const auto length = [&](size_t r) { return row_offsets[r + 1] - row_offsets[r]; };
      longest = length(row) > length(longest) ? row : longest;
    }
    rows = {longest};
  }
  return rows;
}

}  // namespace assay::engine
