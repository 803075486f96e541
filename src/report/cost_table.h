// The lines over the batch size as rows of texts, for every page that shows them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/cost_model.h"
#include "report/plain_grid.h"

namespace assay::report {

/// Headings of the cells behind a line's label.
inline constexpr std::array<GridColumn, 7> kCostColumns = {{{"batch sizes", ""},
                                                            {"fixed", "ms"},
                                                            {"each", "ms"},
                                                            {"limit", "samples/s"},
                                                            {"fit", "R\u00b2"},
                                                            {"memory, fixed", "GiB"},
                                                            {"each", "MiB"}}};

/// "211 \u00b1 20" in ms; without an interval, two points make the line.
std::string InMilliseconds(double value, const measure::Interval& interval);

/// What tells the line apart from others, for people.
std::string LabelOf(const CostLine& line);

/// One text for each of kCostColumns; a dash where there is none.
std::vector<std::string> CellsOf(const CostLine& line);

/// "From batch size 12 on, gemini is faster than torch_ddp."
std::string TextOf(const Crossing& crossing);

}  // namespace assay::report
