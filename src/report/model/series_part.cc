#include "report/model/series_part.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/metric.h"
#include "report/model/figures.h"
#include "report/model/lanes_part.h"
#include "report/model/parts.h"
#include "report/thin.h"

namespace assay::report {
namespace {

using nlohmann::json;
using samplestore::Measurement;

constexpr char kTime[] = "time_s";
constexpr std::array<size_t, 5> kPointsOfSeries = {400, 200, 100, 50, 24};

/// Columns of the sampler that no view draws; of GPUs the totals.
constexpr std::array<std::string_view, 4> kNotShown = {kTime, "rss_process_peak_bytes", "cgroup_memory_bytes",
                                                       "memory_system_percent"};

/// Sampled columns are as long as the samples' times; a series by step may be so by chance, but its name tells.
bool IsSampled(const Measurement& run, std::string_view name) {
  const bool by_step = name.starts_with("step_") || name.starts_with("rank") || name.starts_with("reference_") ||
                       name == "loss" || name == "grad_norm";
  return !by_step && run.series.contains(kTime) && SeriesOf(run, name).size() == SeriesOf(run, kTime).size();
}

/// What a device does not tell is no number in every sample; of a step that is a result.
bool SaysSomething(const Measurement& run, std::string_view name) {
  const bool is_sampled = IsSampled(run, name);
  return std::ranges::any_of(SeriesOf(run, name),
                             [&](double value) { return std::isfinite(value) ? value != 0 : !is_sampled; });
}

std::vector<std::string> ShownSeries(const Measurement& run) {
  std::vector<std::string> names;
  for (const auto& [name, values] : run.series) {
    const bool shown = !IsLaneSeries(name) && std::ranges::find(kNotShown, name) == kNotShown.end() &&
                       !name.ends_with("memory_total_bytes");
    if (shown && SaysSomething(run, name)) {
      names.push_back(name);
    }
  }
  return names;
}

/// One series, thinned to about `most_points`.
json SeriesJson(const Measurement& run, std::string_view name, size_t most_points) {
  const std::vector<double>& y = SeriesOf(run, name);
  std::vector<double> x(y.size());
  if (IsSampled(run, name)) {
    x = SeriesOf(run, kTime);
  } else {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i + 1);
    }
  }
  json series = {{"over", IsSampled(run, name) ? "seconds" : "step"}, {"x", json::array()}, {"y", json::array()}};
  for (const auto& [at, value] : Thin(x, y, most_points)) {
    series["x"].push_back(Rounded(at));
    series["y"].push_back(Rounded(value));
  }
  size_t known = 0;
  size_t missing = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i])) {
      ++(std::isfinite(y[i]) ? known : missing);
    }
  }
  series["of"] = known;
  series["missing"] = missing;
  return series;
}

size_t PointsOf(const Measurement& run, size_t most_of_series) {
  size_t points = 0;
  for (const std::string& name : ShownSeries(run)) {
    points += std::min(SeriesOf(run, name).size(), most_of_series);
  }
  return points;
}

/// The most points of a series with which all runs have room; the fewest where they have not.
size_t RoomFor(const std::vector<const Measurement*>& runs, size_t most_points) {
  for (const size_t most_of_series : kPointsOfSeries) {
    size_t points = 0;
    for (const Measurement* run : runs) {
      points += PointsOf(*run, most_of_series);
    }
    if (points <= most_points) {
      return most_of_series;
    }
  }
  return kPointsOfSeries.back();
}

}  // namespace

json SeriesOfRun(const Measurement& run, size_t most_points) {
  const std::vector<std::string> names = ShownSeries(run);
  const std::vector<std::string_view> figures = FiguresOf(names);
  json series = json::object();
  for (size_t i = 0; i < names.size(); ++i) {
    json& one = series[names[i]] = SeriesJson(run, names[i], most_points);
    one["figure"] = figures[i];
    one["label"] = CurveLabel(names[i]);
  }
  return series;
}

json SeriesPart(const std::vector<const Measurement*>& runs, size_t most_points) {
  const size_t most_of_series = RoomFor(runs, most_points);
  json part = json::object();
  size_t points = 0;
  for (const Measurement* run : runs) {
    points += PointsOf(*run, most_of_series);
    if (points > most_points && !part.empty()) {
      break;
    }
    part[run->uid] = SeriesOfRun(*run, most_of_series);
  }
  return part;
}

}  // namespace assay::report
