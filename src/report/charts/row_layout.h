// Charts that give every configuration a row of its own: its name above, its values along one horizontal axis.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/metric.h"
#include "report/svg_chart.h"

namespace assay::report {

struct ChartRow {
  const Configuration* configuration = nullptr;
  int color = 0;
};

struct RowLayout {
  std::string axis_title;
  double high = 1;  ///< the axis runs from 0 to the tick above
  /// Draws one row around the height `y`.
  std::function<void(Markup& svg, const ChartRow& row, const PlotArea& area, const LinearScale& x, double y)> draw;
};

/// A figure of the rows in their order, dealt out over as many panels as they need; those beyond kMaxRows are left out,
/// and the note says so. Subtitle and legend are the caller's.
inline constexpr size_t kMaxRows = 36;
Figure DrawRows(const ChartKind& kind, const RowLayout& layout, const ResultSet& results, std::vector<ChartRow> rows);

/// "The first 36 of 200 configurations; all are in the table." Empty when none was left out.
std::string LeftOutNote(size_t shown, size_t total, std::string_view noun);

}  // namespace assay::report
