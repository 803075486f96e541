// How configurations become series: which coordinate is their colour, which their shape, which make panels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/result_set.h"

namespace assay::report {

/// Fields; empty where nothing is left to tell apart.
struct Arrangement {
  std::string color;
  std::string color_title;
  std::string shape;
  std::string shape_title;
  std::vector<std::string> panels;  ///< axes
};

/// The colour is the method if it varies, else what is compared, else the model, else the first coordinate that
/// varies; the shape the next one with few values; all others make panels. `x_property` is none of them.
Arrangement Arrange(const ResultSet& results, std::string_view x_property);

/// The axis of the colour; nullptr when only `x_property` varies.
const Axis* ColorAxis(const ResultSet& results, std::string_view x_property = "");

}  // namespace assay::report
