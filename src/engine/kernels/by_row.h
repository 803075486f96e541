// Lists of tensors that different rows of op_table.h take. Private to engine/kernels.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/kernels/op_table.h"

namespace assay::engine {

/// Calls body(row, its items in their order) for each row that row_of(item) names.
template <typename Item, typename RowOf, typename Body>
void by_row(const std::vector<Item>& items, const RowOf& row_of, const Body& body) {
  std::vector<const Operations*> rows;
  std::vector<std::vector<Item>> items_of;
  for (const Item& item : items) {
    const Operations* row = &row_of(item);
    const size_t i = std::find(rows.begin(), rows.end(), row) - rows.begin();
    if (i == rows.size()) {
      rows.push_back(row);
      items_of.emplace_back();
    }
    items_of[i].push_back(item);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    body(*rows[i], items_of[i]);
  }
}

}  // namespace assay::engine
