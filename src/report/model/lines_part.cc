#include <cmath>

#include "report/cost_table.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using nlohmann::json;

json IntervalJson(const measure::Interval& interval) {
  return std::isfinite(interval.high) ? json{Rounded(interval.low), Rounded(interval.high)} : json();
}

json LineJson(const CostLine& line) {
  const measure::LinearFit& fit = line.step_seconds;
  json points = json::array();
  for (const Configuration* point : line.points) {
    points.push_back(point->index);
  }
  const bool fitted = line.sizes >= kFewestForFit;
  std::vector<std::string> cells = CellsOf(line);
  cells.insert(cells.begin(), LabelOf(line));
  return {{"label", line.label},
          {"cells", std::move(cells)},
          {"configurations", std::move(points)},
          {"sizes", line.sizes},
          {"fitted", fitted},
          {"from", Rounded(line.smallest_batch)},
          {"to", Rounded(line.largest_batch)},
          {"fixed_seconds", Rounded(fit.intercept)},
          {"fixed_interval", IntervalJson(fit.intercept_interval)},
          {"each_seconds", Rounded(fit.slope)},
          {"each_interval", IntervalJson(fit.slope_interval)},
          {"samples_per_batch", Rounded(line.samples_per_batch)},
          {"r_squared", fitted ? Rounded(fit.r_squared) : json()},
          {"memory_fixed_gib", line.memory_gib ? Rounded(line.memory_gib->intercept) : json()},
          {"memory_each_gib", line.memory_gib ? Rounded(line.memory_gib->slope) : json()}};
}

json ColumnsJson() {
  json columns = {{{"title", "series"}, {"unit", ""}}};
  for (const GridColumn& column : kCostColumns) {
    columns.push_back({{"title", column.label}, {"unit", column.unit}});
  }
  return columns;
}

json ForetoldColumn(const ReportContent& content) {
  json column = {{"step_seconds", json::array_t(content.results.configurations().size())},
                 {"sizes", json::array_t(content.results.configurations().size())}};
  for (const Foretold& foretold : ForetellByOthers(content.results, content.lines, content.metrics)) {
    column["step_seconds"][foretold.point->index] = Rounded(foretold.step_seconds);
    column["sizes"][foretold.point->index] = foretold.sizes;
  }
  return column;
}

}  // namespace

json LinesPart(const ReportContent& content) {
  constexpr size_t kMostCrossings = 40;
  json lines = json::array();
  for (const CostLine& line : content.lines) {
    lines.push_back(LineJson(line));
  }
  json crossings = json::array();
  const std::vector<Crossing> found = FindCrossings(content.results, content.lines);
  for (size_t i = 0; i < std::min(found.size(), kMostCrossings); ++i) {
    crossings.push_back({{"winner", found[i].winner->label},
                         {"loser", found[i].loser->label},
                         {"text", TextOf(found[i])},
                         {"batch_size", Rounded(std::ceil(found[i].batch_size))}});
  }
  return {{"columns", ColumnsJson()},
          {"list", std::move(lines)},
          {"crossings", std::move(crossings)},
          {"crossings_found", found.size()},
          {"foretold", ForetoldColumn(content)}};
}

}  // namespace assay::report
