// Tables of names and numbers, one row a series or configuration, which the reader does not sort.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/html.h"

namespace assay::report {

/// The heading of a column of numbers; an empty unit is left out.
struct GridColumn {
  std::string_view label;
  std::string_view unit;
};

/// Opens a table in a region that scrolls, up to its body. The first column is headed `first`.
void OpenGrid(Markup& html, std::string_view label, std::string_view first, std::span<const GridColumn> columns);

/// Closes what OpenGrid opened.
void CloseGrid(Markup& html);

void WriteNumberCell(Markup& html, std::string_view text);

/// A dash, where there is no number.
void WriteEmptyCell(Markup& html);

}  // namespace assay::report
