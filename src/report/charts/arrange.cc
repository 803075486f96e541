#include "report/charts/arrange.h"

#include "report/fields.h"

namespace assay::report {

const Axis* ColorAxis(const ResultSet& results, std::string_view x_property) {
  using experiment::Role;
  for (const std::string& preferred :
       {std::string(kMethod), results.VaryingWith(Role::kSeries), results.VaryingWith(Role::kModel)}) {
    if (preferred != x_property && results.Varies(preferred)) {
      return results.AxisOf(preferred);
    }
  }
  for (const Axis& axis : results.axes()) {
    if (axis.property != x_property) {
      return &axis;
    }
  }
  return nullptr;
}

Arrangement Arrange(const ResultSet& results, std::string_view x_property) {
  constexpr size_t kMostShapes = 5;
  Arrangement arrangement;
  const Axis* color = ColorAxis(results, x_property);
  for (const Axis& axis : results.axes()) {
    if (axis.property == x_property) {
      continue;
    }
    if (&axis == color) {
      arrangement.color = FieldOf(axis);
      arrangement.color_title = results.declared().Label(axis.property);
    } else if (arrangement.shape.empty() && axis.values.size() <= kMostShapes) {
      arrangement.shape = FieldOf(axis);
      arrangement.shape_title = results.declared().Label(axis.property);
    } else {
      arrangement.panels.push_back(axis.property);
    }
  }
  return arrangement;
}

}  // namespace assay::report
