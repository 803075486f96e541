// The peak of tensor memory in each phase of every configuration: where the memory goes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/charts/arrange.h"
#include "report/charts/row_layout.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

struct Phase {
  std::string_view property;
  std::string_view label;
};

constexpr std::array kPhases = {
    Phase{"load_peak_tensor_bytes", "load"},
    Phase{"forward_peak_tensor_bytes", "forward"},
    Phase{"backward_peak_tensor_bytes", "backward"},
    Phase{"optimizer_peak_tensor_bytes", "optimiser"},
};

using Peaks = std::array<std::optional<double>, kPhases.size()>;

// In GiB, of the last run that counts.
Peaks PeaksOf(const Configuration& configuration) {
  Peaks peaks;
  const auto runs = configuration.CountedRuns();
  for (size_t i = 0; i < kPhases.size() && !runs.empty(); ++i) {
    if (const std::optional<double> bytes = NumberOf(*runs.back(), kPhases[i].property)) {
      peaks[i] = *bytes / kBytesPerGib;
    }
  }
  return peaks;
}

double HighestOf(const Peaks& peaks) {
  return std::max_element(peaks.begin(), peaks.end())->value_or(0);
}

void DrawPhases(Markup& svg, const Configuration& configuration, const ResultSet& results, const PlotArea& area,
                const LinearScale& x, double y) {
  constexpr double kRise = 2.5;  // between phases, so that equal peaks stay visible
  const Peaks peaks = PeaksOf(configuration);
  std::string tip = results.Label(configuration);
  for (size_t i = 0; i < kPhases.size(); ++i) {
    tip += peaks[i] ? fmt::format("\n{} {} GiB", kPhases[i].label, Readable(*peaks[i])) : "";
  }
  OpenPoint(svg, configuration.index, tip);
  DrawLine(svg, area.left, y, x(HighestOf(peaks)), y, "bar");
  for (size_t i = 0; i < kPhases.size(); ++i) {
    if (peaks[i]) {
      svg.Open("g", {{"class", fmt::format("l{}", i)}});
      DrawMarker(svg, static_cast<int>(i), x(*peaks[i]), y + kRise * (static_cast<double>(i) - 1.5));
      svg.Close();
    }
  }
  svg.Close();
}

}  // namespace

std::optional<Figure> BuildMemoryPhases(const ChartKind& kind, const ChartInput& input) {
  const std::string color_property = ColorProperty(input.results);
  RowLayout layout{"GiB", 0, {}};
  std::vector<ChartRow> rows;
  for (const Configuration& configuration : input.results.configurations()) {
    if (const double highest = HighestOf(PeaksOf(configuration)); highest > 0) {
      rows.push_back({&configuration, ColorOf(input.results, color_property, configuration)});
      layout.high = std::max(layout.high, rows.size() <= kMaxRows ? highest : 0);
    }
  }
  if (rows.empty()) {
    return std::nullopt;
  }
  layout.draw = [&](Markup& svg, const ChartRow& row, const PlotArea& area, const LinearScale& x, double y) {
    DrawPhases(svg, *row.configuration, input.results, area, x, y);
  };
  Figure figure = DrawRows(kind, layout, input.results, rows);
  figure.subtitle = "most live tensor memory within each phase";
  figure.legend_lines = false;
  for (const Phase& phase : kPhases) {
    figure.legend.push_back({std::string(phase.label), {-1, static_cast<int>(figure.legend.size())}});
  }
  return figure;
}

}  // namespace assay::report
