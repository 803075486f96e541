#include "report/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "base/text.h"
#include "measure/statistics.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

struct MetricSpec {
  MetricKind kind;
  std::string_view title;
  std::string_view short_title;
  std::string_view unit;    // for people; empty: the target's own
  std::string_view series;  // what the metric is computed from when there is no such target
  double (*of_series)(const std::vector<double>&);
};

constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

double MedianOf(const std::vector<double>& series) {
  return measure::Median(series);
}
double Last(const std::vector<double>& series) {
  return series.back();
}
double MaxInGib(const std::vector<double>& series) {
  return *std::max_element(series.begin(), series.end()) / kBytesPerGib;
}

// clang-format off
constexpr std::array kMetricSpecs = {
    MetricSpec{MetricKind::kThroughput, "Throughput", "throughput", "", "", nullptr},
    MetricSpec{MetricKind::kStepSeconds, "Median step time", "step", "s", "step_seconds", &MedianOf},
    MetricSpec{MetricKind::kPeakTensorMemory, "Peak tensor memory", "tensor", "GiB", "", nullptr},
    MetricSpec{MetricKind::kPeakResidentMemory, "Peak resident memory", "RSS", "GiB", "rss_process_bytes", &MaxInGib},
    MetricSpec{MetricKind::kCpu, "CPU use", "CPU", "% of a core", "", nullptr},
    MetricSpec{MetricKind::kGpu, "GPU use", "GPU", "%", "", nullptr},
    MetricSpec{MetricKind::kModelFlops, "Model FLOP/s utilisation", "MFU", "%", "", nullptr},
    MetricSpec{MetricKind::kHardwareFlops, "Hardware FLOP/s utilisation", "HFU", "%", "", nullptr},
    MetricSpec{MetricKind::kEnergyEfficiency, "Work for each joule", "energy", "", "", nullptr},
    MetricSpec{MetricKind::kLoss, "Last loss", "last loss", "", "loss", &Last},
    MetricSpec{MetricKind::kRuntime, "Training time", "train", "s", "", nullptr},
};
// clang-format on
constexpr size_t kMaxOtherMetrics = 6;

const MetricSpec* SpecOf(MetricKind kind) {
  const auto* found =
      std::find_if(kMetricSpecs.begin(), kMetricSpecs.end(), [&](const MetricSpec& spec) { return spec.kind == kind; });
  return found == kMetricSpecs.end() ? nullptr : found;
}

bool AnyValid(const ResultSet& results, const std::function<bool(const Measurement&)>& has) {
  return std::any_of(results.measurements().begin(), results.measurements().end(),
                     [&](const Measurement& m) { return m.outcome == Outcome::kValid && has(m); });
}

std::string UnitOf(const MetricSpec& spec, const experiment::TargetSpec& target) {
  if (!spec.unit.empty()) {
    return std::string(spec.unit);
  }
  return target.shown_unit.empty() ? target.unit : target.shown_unit;
}

std::optional<Metric> Resolve(const MetricSpec& spec, const ResultSet& results) {
  const auto make = [&](const std::string& property, std::string unit) {
    const auto steps = experiment::TargetsOf(results.declared().all(), MetricKind::kSteps);
    return Metric{.kind = spec.kind,
                  .title = std::string(spec.title),
                  .short_title = std::string(spec.short_title),
                  .property = property,
                  .unit = std::move(unit),
                  .steps = steps.empty() ? "" : steps.front()->name};
  };
  for (const experiment::TargetSpec* target : results.TargetsOf(spec.kind)) {
    const auto has = [&](const Measurement& m) {
      // Without a GPU its values are 0, which says nothing.
      const std::optional<double> number = NumberOf(m, target->name);
      return number && (spec.kind != MetricKind::kGpu || *number > 0);
    };
    if (AnyValid(results, has)) {
      return make(target->name, UnitOf(spec, *target));
    }
  }
  const auto has = [&](const Measurement& m) { return !SeriesOf(m, spec.series).empty(); };
  return AnyValid(results, has) ? std::optional(make("", std::string(spec.unit))) : std::nullopt;
}

std::vector<Metric> OtherMetrics(const ResultSet& results) {
  std::map<std::string, std::string> unit_of;
  for (const Measurement& measurement : results.measurements()) {
    for (const auto& [property, value] : measurement.properties) {
      const auto unit = measurement.units.find(property);
      const bool is_named = !property.empty() && property != "is_valid";
      if (measurement.outcome == Outcome::kValid && NumberOf(measurement, property) && is_named) {
        unit_of.emplace(property, unit == measurement.units.end() ? "" : unit->second);
      }
    }
  }
  std::vector<Metric> metrics;
  for (const auto& [property, unit] : unit_of) {
    if (metrics.size() < kMaxOtherMetrics) {
      metrics.push_back({MetricKind::kOther, property, property, property, unit});
    }
  }
  return metrics;
}

}  // namespace

std::optional<double> NumberOf(const Measurement& measurement, const std::string& property) {
  const auto found = measurement.properties.find(property);
  if (found == measurement.properties.end()) {
    return std::nullopt;
  }
  double number = std::nan("");
  if (const auto* real = std::get_if<double>(&found->second)) {
    number = *real;
  } else if (const auto* integer = std::get_if<int64_t>(&found->second)) {
    number = static_cast<double>(*integer);
  } else if (const auto* boolean = std::get_if<bool>(&found->second)) {
    number = *boolean ? 1 : 0;
  }
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<double> NumberOf(std::span<const experiment::TargetSpec* const> targets, const Measurement& measurement) {
  for (const experiment::TargetSpec* target : targets) {
    if (const std::optional<double> number = NumberOf(measurement, target->name)) {
      return number;
    }
  }
  return std::nullopt;
}

void CondenseSeries(Measurement& measurement) {
  std::map<std::string, std::vector<double>> condensed;
  for (const MetricSpec& spec : kMetricSpecs) {
    if (const std::vector<double>& series = SeriesOf(measurement, spec.series); !series.empty()) {
      condensed[std::string(spec.series)] = {spec.of_series(series)};
    }
  }
  measurement.series = std::move(condensed);
}

const std::vector<double>& SeriesOf(const Measurement& measurement, std::string_view name) {
  static const std::vector<double> kNone;
  // Most metrics have none, but somebody's measurement may have one without a name.
  const auto found = name.empty() ? measurement.series.end() : measurement.series.find(std::string(name));
  return found == measurement.series.end() ? kNone : found->second;
}

std::optional<double> Metric::ValueOf(const Measurement& measurement) const {
  if (!property.empty()) {
    const std::optional<double> number = NumberOf(measurement, property);
    return number ? std::optional(*number * ScaleOf(measurement)) : std::nullopt;
  }
  const MetricSpec* spec = SpecOf(kind);
  if (spec == nullptr) {
    return std::nullopt;
  }
  const std::vector<double>& series = SeriesOf(measurement, spec->series);
  if (series.empty()) {
    return std::nullopt;
  }
  const double value = spec->of_series(series);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string Metric::Heading() const {
  if (kind == MetricKind::kThroughput) {
    return unit;
  }
  return unit.empty() ? short_title : fmt::format("{} {}", short_title, unit);
}

std::string Metric::Text(double value) const {
  return kind == MetricKind::kOther ? FormatNumber(value) : Readable(value);
}

bool Metric::IsNeverNegative() const {
  return kind != MetricKind::kOther && kind != MetricKind::kLoss;
}

double Metric::ScaleOf(const Measurement& measurement) const {
  if (unit != "GiB" || kind == MetricKind::kOther) {
    return 1;
  }
  const auto stated = measurement.units.find(property);
  const bool in_gib = stated != measurement.units.end() ? stated->second == "GiB" : property.ends_with("_gib");
  return in_gib ? 1 : 1 / kBytesPerGib;
}

std::vector<Metric> ResolveMetrics(const ResultSet& results) {
  std::vector<Metric> metrics;
  for (const MetricSpec& spec : kMetricSpecs) {
    if (std::optional<Metric> metric = Resolve(spec, results)) {
      metrics.push_back(*std::move(metric));
    }
  }
  return metrics.empty() ? OtherMetrics(results) : metrics;
}

const Metric* FindMetric(const std::vector<Metric>& metrics, MetricKind kind) {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) { return metric.kind == kind; });
  return found == metrics.end() ? nullptr : &*found;
}

}  // namespace assay::report
