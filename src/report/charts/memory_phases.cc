// The peak of tensor memory in each phase of every configuration: where the memory goes.
#include <fmt/format.h>

#include <algorithm>

#include "report/charts/arrange.h"
#include "report/charts/row_layout.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

using Phases = std::vector<experiment::MemoryPhase>;
using Peaks = std::vector<std::optional<double>>;

/// Of the first experiment that has them.
Phases PhasesOf(const Declared& declared) {
  for (const experiment::Experiment* measured : declared.measured()) {
    if (!measured->declaration().report.memory_phases.empty()) {
      return measured->declaration().report.memory_phases;
    }
  }
  return {};
}

// In GiB, of the last run that counts.
Peaks PeaksOf(const Phases& phases, const Configuration& configuration) {
  Peaks peaks(phases.size());
  const auto runs = configuration.CountedRuns();
  for (size_t i = 0; i < phases.size() && !runs.empty(); ++i) {
    if (const std::optional<double> bytes = NumberOf(*runs.back(), phases[i].target)) {
      peaks[i] = *bytes / kBytesPerGib;
    }
  }
  return peaks;
}

double HighestOf(const Peaks& peaks) {
  return peaks.empty() ? 0 : std::max_element(peaks.begin(), peaks.end())->value_or(0);
}

void DrawPhases(Markup& svg, const Phases& phases, const Configuration& configuration, const ResultSet& results,
                const PlotArea& area, const LinearScale& x, double y) {
  constexpr double kRise = 2.5;  // between phases, so that equal peaks stay visible
  const Peaks peaks = PeaksOf(phases, configuration);
  std::string tip = results.Label(configuration);
  for (size_t i = 0; i < phases.size(); ++i) {
    tip += peaks[i] ? fmt::format("\n{} {} GiB", phases[i].label, Readable(*peaks[i])) : "";
  }
  OpenPoint(svg, configuration.index, tip);
  DrawLine(svg, area.left, y, x(HighestOf(peaks)), y, "bar");
  for (size_t i = 0; i < phases.size(); ++i) {
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
  const Phases phases = PhasesOf(input.results.declared());
  const std::string color_property = ColorProperty(input.results);
  RowLayout layout{"GiB", 0, {}};
  std::vector<ChartRow> rows;
  for (const Configuration& configuration : input.results.configurations()) {
    if (const double highest = HighestOf(PeaksOf(phases, configuration)); highest > 0) {
      rows.push_back({&configuration, ColorOf(input.results, color_property, configuration)});
      layout.high = std::max(layout.high, rows.size() <= kMaxRows ? highest : 0);
    }
  }
  if (rows.empty()) {
    return std::nullopt;
  }
  layout.draw = [&](Markup& svg, const ChartRow& row, const PlotArea& area, const LinearScale& x, double y) {
    DrawPhases(svg, phases, *row.configuration, input.results, area, x, y);
  };
  Figure figure = DrawRows(kind, layout, input.results, rows);
  figure.subtitle = "most live tensor memory within each phase";
  figure.legend_lines = false;
  for (const experiment::MemoryPhase& phase : phases) {
    figure.legend.push_back({phase.label, {-1, static_cast<int>(figure.legend.size())}});
  }
  return figure;
}

}  // namespace assay::report
