// What each run used of the machine, over its own time: CPU, memory and GPUs above one another.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "report/charts/arrange.h"
#include "report/charts/figure.h"
#include "report/charts/row_layout.h"
#include "report/format.h"
#include "report/thin.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

constexpr size_t kMaxPanels = 12;
constexpr size_t kMaxCurvePoints = 240;
constexpr double kLeft = 46;
constexpr double kBandHeight = 62;
constexpr double kBandGap = 30;
constexpr double kBandsTop = 24;
constexpr double kTimeAxisHeight = 42;
constexpr size_t kBandTicks = 3;
constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

// A band of the panel: the first of the series that any run has. A leading "gpu*." stands for every GPU.
struct BandSpec {
  std::array<std::string_view, 2> series;
  std::string_view unit;
  double scale;
};

constexpr std::array kBandSpecs = {
    BandSpec{{"cpu_tree_percent", "cpu_process_percent"}, "CPU, % (100 = one core)", 1},
    BandSpec{{"rss_tree_bytes", "rss_process_bytes"}, "resident memory, GiB", 1 / kBytesPerGib},
    BandSpec{{"gpu*.utilization_percent", ""}, "GPU, %", 1},
    BandSpec{{"gpu*.memory_used_bytes", ""}, "GPU memory, GiB", 1 / kBytesPerGib},
    BandSpec{{"gpu*.power_watts", ""}, "GPU power, W", 1},
};

struct Band {
  std::string_view series;
  std::string_view unit;
  double scale = 1;
  double high = 0;
};

bool Matches(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern == name;
  }
  const std::string_view tail = pattern.substr(star + 1);
  if (!name.starts_with(pattern.substr(0, star)) || !name.ends_with(tail) || name.size() < star + tail.size()) {
    return false;
  }
  const std::string_view index = name.substr(star, name.size() - star - tail.size());
  return !index.empty() && std::all_of(index.begin(), index.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::vector<const std::vector<double>*> CurvesOf(const Measurement& run, std::string_view pattern) {
  std::vector<const std::vector<double>*> curves;
  for (const auto& [name, values] : run.series) {
    if (Matches(pattern, name)) {
      curves.push_back(&values);
    }
  }
  return curves;
}

double HighestOf(const std::vector<const Measurement*>& runs, std::string_view pattern) {
  double high = 0;
  for (const Measurement* run : runs) {
    for (const std::vector<double>* curve : CurvesOf(*run, pattern)) {
      for (double value : *curve) {
        high = std::isfinite(value) ? std::max(high, value) : high;
      }
    }
  }
  return high;
}

// A band that is zero everywhere says nothing and is left out.
std::vector<Band> FindBands(const std::vector<const Measurement*>& runs) {
  std::vector<Band> bands;
  for (const BandSpec& spec : kBandSpecs) {
    for (std::string_view series : spec.series) {
      const double high = series.empty() ? 0 : HighestOf(runs, series) * spec.scale;
      if (high > 0) {
        bands.push_back({series, spec.unit, spec.scale, NiceRange(0, high, kBandTicks).second});
        break;
      }
    }
  }
  return bands;
}

void DrawBand(Markup& svg, const Measurement& run, const Band& band, const PlotArea& area, const LinearScale& x) {
  const LinearScale y(0, band.high, area.bottom, area.top);
  DrawValueAxis(svg, area, y, NiceTicks(0, band.high, kBandTicks), band.unit);
  for (const std::vector<double>* curve : CurvesOf(run, band.series)) {
    std::vector<std::pair<double, double>> points = Thin(SeriesOf(run, "time_s"), *curve, kMaxCurvePoints);
    if (points.empty()) {
      continue;
    }
    for (auto& [time, value] : points) {
      time = x(time);
      value = y(value * band.scale);
    }
    const std::string path = PathThrough(points);
    svg.Empty("path",
              {{"class", "area"},
               {"d", fmt::format("{}L{},{}L{},{}Z", path, Coordinate(points.back().first), Coordinate(area.bottom),
                                 Coordinate(points.front().first), Coordinate(area.bottom))}});
    svg.Empty("path", {{"class", "curve"}, {"d", path}});
  }
}

std::string DrawPanel(const Measurement& run, const std::vector<Band>& bands, double seconds, int color,
                      std::string_view label) {
  const double height =
      kBandsTop + static_cast<double>(bands.size()) * (kBandHeight + kBandGap) - kBandGap + kTimeAxisHeight;
  const LinearScale x(0, seconds, kLeft, kChartWidth - 10);
  Markup svg = OpenChart(height, fmt::format("Use of the machine over time, {}", label));
  svg.Open("g", {{"class", SeriesStyle{color, 0}.Classes()}});
  PlotArea area{kLeft, kBandsTop, kChartWidth - 10, kBandsTop + kBandHeight};
  for (const Band& band : bands) {
    DrawBand(svg, run, band, area, x);
    area.top += kBandHeight + kBandGap;
    area.bottom += kBandHeight + kBandGap;
  }
  area.bottom -= kBandHeight + kBandGap;
  DrawNumberAxis(svg, area, x, {NiceTicks(0, seconds, 6), "seconds since the worker was started"});
  return std::move(svg).Finish();
}

// Those that its values are made of; without values, those that tell how it ended.
std::vector<const Measurement*> RunsToShow(const Configuration& configuration) {
  if (configuration.outcome == samplestore::Outcome::kValid) {
    return configuration.CountedRuns();
  }
  std::vector<const Measurement*> runs = configuration.runs;
  std::erase_if(runs, [&](const Measurement* run) { return run->outcome != configuration.outcome; });
  return runs;
}

// The last run that was sampled, of each configuration that has one.
std::vector<std::pair<const Configuration*, const Measurement*>> SampledRuns(const ResultSet& results) {
  std::vector<std::pair<const Configuration*, const Measurement*>> sampled;
  for (const Configuration& configuration : results.configurations()) {
    std::vector<const Measurement*> runs = RunsToShow(configuration);
    std::erase_if(runs, [](const Measurement* run) { return SeriesOf(*run, "time_s").size() < 2; });
    if (!runs.empty()) {
      sampled.emplace_back(&configuration, runs.back());
    }
  }
  return sampled;
}

}  // namespace

std::optional<Figure> BuildUtilization(const ChartKind& kind, const ChartInput& input) {
  auto sampled = SampledRuns(input.results);
  const size_t total = sampled.size();
  sampled.resize(std::min(total, kMaxPanels));
  std::vector<const Measurement*> runs;
  double seconds = 0;
  for (const auto& [configuration, run] : sampled) {
    runs.push_back(run);
    seconds = std::max(seconds, SeriesOf(*run, "time_s").back());
  }
  const std::vector<Band> bands = FindBands(runs);
  if (bands.empty()) {
    return std::nullopt;
  }
  const std::string color_property = ColorProperty(input.results);
  Figure figure{std::string(kind.id),
                std::string(kind.title),
                sampled.size() > 1 ? "loading and training; all panels have the same axes" : "loading and training",
                {},
                {},
                LeftOutNote(sampled.size(), total, "sampled configuration"),
                false};
  for (const auto& [configuration, run] : sampled) {
    std::string label = input.results.Label(*configuration);
    if (configuration->outcome != samplestore::Outcome::kValid) {
      label += fmt::format(" ({})", samplestore::ToString(configuration->outcome));
    }
    const int color = ColorOf(input.results, color_property, *configuration);
    figure.panels.push_back({label, DrawPanel(*run, bands, seconds, color, label)});
  }
  return figure;
}

}  // namespace assay::report
