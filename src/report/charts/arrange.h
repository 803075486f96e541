// Which configurations share a line, which lines share a panel, and how each looks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/charts/figure.h"
#include "report/result_set.h"
#include "report/svg_chart.h"

namespace assay::report {

/// Configurations that differ in the horizontal axis alone.
struct Series {
  std::string short_label;  ///< its values: "lora · 256"; empty when there is only one
  SeriesStyle style;
  std::vector<const Configuration*> points;
};

struct Panel {
  std::string title;  ///< what its configurations have in common; empty when there is one panel
  std::vector<Series> series;
};

struct Arrangement {
  std::vector<Panel> panels;
  std::string color_property;                ///< empty when nothing else varies
  std::vector<std::string> line_properties;  ///< that tell the series of a panel apart
};

/// Series over `x_property` (empty: each configuration is a series). When a panel would be crowded, one property after
/// another is spread over panels, in the order of ResultSet::varying().
Arrangement Arrange(const ResultSet& results, std::string_view x_property);

/// The property that colours stand for: the method if it varies, else what is compared, else the model, else the first
/// that
/// does; never `x_property`. Empty when there is none.
std::string ColorProperty(const ResultSet& results, std::string_view x_property = "");

/// The colour of a configuration by that property.
int ColorOf(const ResultSet& results, const std::string& color_property, const Configuration& configuration);

/// Each distinct style once with its series' label; the colours alone when there would be too many.
std::vector<LegendEntry> LegendOf(const ResultSet& results, const Arrangement& arrangement);

/// "a line for each method · max length"; empty when a panel has one series.
std::string LinesText(const ResultSet& results, const Arrangement& arrangement);

}  // namespace assay::report
