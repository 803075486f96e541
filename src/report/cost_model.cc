#include "report/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::report {
namespace {

std::optional<double> AsNumber(const space::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

/// A coordinate, or what a parameter of that name was set to.
space::Value ValueAt(const Configuration& configuration, std::string_view property) {
  const space::Entity& parameters = configuration.runs.front()->parameters;
  const auto found = parameters.find(std::string(property));
  return found == parameters.end() ? configuration.At(property) : found->second;
}

bool IsBatchSize(const ResultSet& results, std::string_view property) {
  return results.declared().RoleOf(property) == experiment::Role::kBatchSize;
}

std::optional<double> BatchOf(const ResultSet& results, const Configuration& configuration) {
  return AsNumber(
      configuration.At(results.declared().PropertyOf(configuration.coordinates, experiment::Role::kBatchSize)));
}

/// What was measured of those points that have a batch size and a value.
struct Samples {
  std::vector<const Configuration*> points;
  std::vector<double> batch;
  std::vector<double> value;

  void Add(const Configuration* point, double batch_size, double measured) {
    points.push_back(point);
    batch.push_back(batch_size);
    value.push_back(measured);
  }
  Samples Without(const Configuration* left_out) const {
    Samples others;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points[i] != left_out) {
        others.Add(points[i], batch[i], value[i]);
      }
    }
    return others;
  }
};

Samples SamplesOf(const ResultSet& results, const std::vector<const Configuration*>& points, const Metric* metric) {
  Samples samples;
  for (const Configuration* point : points) {
    const std::optional<double> batch = BatchOf(results, *point);
    const std::optional<Estimate> estimate = metric == nullptr ? std::nullopt : EstimateOf(*point, *metric);
    if (batch && estimate) {
      samples.Add(point, *batch, estimate->value);
    }
  }
  return samples;
}

std::string LabelOf(const ResultSet& results, const Configuration& configuration) {
  std::vector<std::string> parts;
  for (const std::string& property : results.varying()) {
    if (!IsBatchSize(results, property)) {
      parts.push_back(results.declared().Text(property, configuration.At(property)));
    }
  }
  return Join(parts, ", ");
}

/// Configurations that differ in the batch size alone, in the order of the result set.
std::vector<std::vector<const Configuration*>> SeriesOverBatch(const ResultSet& results) {
  std::vector<std::vector<const Configuration*>> series;
  std::map<std::vector<uint32_t>, size_t> series_of;
  for (const Configuration& configuration : results.configurations()) {
    std::vector<uint32_t> place;
    for (const Axis& axis : results.axes()) {
      place.push_back(IsBatchSize(results, axis.property) ? 0 : axis.codes[configuration.index]);
    }
    const auto [at, is_new] = series_of.emplace(std::move(place), series.size());
    if (is_new) {
      series.emplace_back();
    }
    series[at->second].push_back(&configuration);
  }
  return series;
}

/// Of the first valid run that tells how many samples its steps had; 1 when none does.
double SamplesPerBatch(const ResultSet& results, const std::vector<const Configuration*>& points) {
  const auto steps_of = results.TargetsOf(MetricKind::kSteps);
  const auto rate_of = results.TargetsOf(MetricKind::kSampleRate);
  const auto seconds_of = results.TargetsOf(MetricKind::kSampleSeconds);
  const auto samples_of = results.TargetsOf(MetricKind::kSamples);
  for (const Configuration* point : points) {
    const std::optional<double> batch = BatchOf(results, *point);
    for (const samplestore::Measurement* run : point->CountedRuns()) {
      const std::optional<double> steps = NumberOf(steps_of, *run);
      const std::optional<double> rate = NumberOf(rate_of, *run);
      const std::optional<double> seconds = NumberOf(seconds_of, *run);
      const std::optional<double> samples = rate && seconds ? *rate * *seconds : NumberOf(samples_of, *run);
      if (batch && steps && samples && *steps * *batch > 0) {
        return std::max(1.0, std::round(*samples / (*steps * *batch)));
      }
    }
  }
  return 1;
}

/// What of machines a line was measured on, and under which conditions.
std::vector<space::Value> MachineOf(const ResultSet& results, const CostLine& line) {
  constexpr std::array kOfMachines = {experiment::Role::kGpus, experiment::Role::kMachine};
  std::vector<space::Value> machine;
  for (const std::string& property : results.declared().PropertiesWith(kOfMachines)) {
    machine.push_back(ValueAt(*line.points.front(), property));
  }
  for (const std::string& condition : results.conditions()) {
    machine.push_back(line.points.front()->At(condition));
  }
  return machine;
}

std::string WhyForbidden(const CostLine& line, double batch_size, const Demand& demand) {
  return demand.forbidden ? demand.forbidden(line, batch_size) : "";
}

/// The largest whole batch size that the memory lets a line have; 0 when not even 1 fits.
double LargestThatFits(const CostLine& line, const Demand& demand) {
  const double trusted = std::floor(line.largest_batch * demand.extrapolation);
  if (!demand.memory_gib || !line.memory_gib) {
    return line.largest_batch;
  }
  const measure::LinearFit& memory = *line.memory_gib;
  if (memory.slope <= 0) {
    return memory.intercept <= *demand.memory_gib ? trusted : 0;
  }
  return std::clamp(std::floor((*demand.memory_gib - memory.intercept) / memory.slope), 0.0, trusted);
}

/// The largest of these that the rules allow too; where they allow none, the largest that fits.
double LargestBatch(const CostLine& line, const Demand& demand) {
  const double fits = LargestThatFits(line, demand);
  double batch = fits;
  while (batch >= 1 && !WhyForbidden(line, batch, demand).empty()) {
    --batch;
  }
  return batch < 1 ? fits : batch;
}

std::string ObjectionTo(const Prediction& prediction, const Demand& demand) {
  if (prediction.batch_size < 1) {
    return fmt::format("no batch size fits: {} GiB are needed at 1", Readable(prediction.line->memory_gib->At(1)));
  }
  if (demand.memory_gib && !prediction.memory_gib) {
    return "its memory was not measured at two batch sizes";
  }
  if (demand.memory_gib && *prediction.memory_gib > *demand.memory_gib) {
    return fmt::format("needs {} GiB", Readable(*prediction.memory_gib));
  }
  if (prediction.batch_size > prediction.line->largest_batch * demand.extrapolation) {
    return fmt::format("too far beyond the largest measured batch size, {}", Whole(prediction.line->largest_batch));
  }
  return WhyForbidden(*prediction.line, prediction.batch_size, demand);
}

Prediction Predict(const CostLine& line, const Demand& demand) {
  Prediction prediction;
  prediction.line = &line;
  prediction.batch_size = demand.batch_size ? *demand.batch_size : LargestBatch(line, demand);
  prediction.step_seconds = line.step_seconds.At(prediction.batch_size);
  prediction.samples_per_second = prediction.batch_size * line.samples_per_batch / prediction.step_seconds;
  if (line.memory_gib) {
    prediction.memory_gib = line.memory_gib->At(prediction.batch_size);
  }
  prediction.extrapolated = prediction.batch_size < line.smallest_batch || prediction.batch_size > line.largest_batch;
  prediction.objection = ObjectionTo(prediction, demand);
  return prediction;
}

}  // namespace

measure::LinearFit CostLine::share_seconds() const {
  measure::LinearFit share = step_seconds;
  share.intercept /= samples_per_batch;
  share.slope /= samples_per_batch;
  return share;
}

std::vector<CostLine> FitCostLines(const ResultSet& results, const std::vector<Metric>& metrics) {
  const Metric* step = FindMetric(metrics, MetricKind::kStepSeconds);
  const Metric* memory = FindMetric(metrics, MetricKind::kPeakTensorMemory);
  std::vector<CostLine> lines;
  for (const auto& points : SeriesOverBatch(results)) {
    const Samples seconds = SamplesOf(results, points, step);
    const std::optional<measure::LinearFit> fit = measure::FitLine(seconds.batch, seconds.value);
    if (!fit) {
      continue;
    }
    const Samples bytes = SamplesOf(results, points, memory);
    const auto [smallest, largest] = std::minmax_element(seconds.batch.begin(), seconds.batch.end());
    lines.push_back({LabelOf(results, *points.front()), points, *fit, measure::FitLine(bytes.batch, bytes.value),
                     std::set(seconds.batch.begin(), seconds.batch.end()).size(), *smallest, *largest,
                     SamplesPerBatch(results, points)});
  }
  return lines;
}

std::vector<Crossing> FindCrossings(const ResultSet& results, const std::vector<CostLine>& lines) {
  std::map<std::vector<space::Value>, std::vector<const CostLine*>> of_machine;
  for (const CostLine& line : lines) {
    if (line.sizes >= kFewestForFit) {
      of_machine[MachineOf(results, line)].push_back(&line);
    }
  }
  std::vector<Crossing> crossings;
  for (const auto& [machine, alike] : of_machine) {
    for (size_t i = 0; i < alike.size(); ++i) {
      for (size_t j = i + 1; j < alike.size(); ++j) {
        const auto crossover = measure::CrossoverOf(alike[i]->share_seconds(), alike[j]->share_seconds());
        const double trusted = 2 * std::min(alike[i]->largest_batch, alike[j]->largest_batch);
        if (crossover && crossover->x >= 1 && crossover->x <= trusted) {
          const bool second = crossover->second_is_lower_beyond;
          crossings.push_back({alike[second ? j : i], alike[second ? i : j], crossover->x});
        }
      }
    }
  }
  return crossings;
}

std::vector<Foretold> ForetellByOthers(const ResultSet& results, const std::vector<CostLine>& lines,
                                       const std::vector<Metric>& metrics) {
  std::vector<Foretold> foretold;
  const Metric* step = FindMetric(metrics, MetricKind::kStepSeconds);
  for (const CostLine& line : lines) {
    if (line.sizes < kFewestForFit) {
      continue;
    }
    const Samples all = SamplesOf(results, line.points, step);
    for (const Configuration* point : line.points) {
      const Samples samples = all.Without(point);
      const auto fit = measure::FitLine(samples.batch, samples.value);
      const std::optional<double> batch = BatchOf(results, *point);
      if (fit && batch) {
        foretold.push_back({point, fit->At(*batch), std::set(samples.batch.begin(), samples.batch.end()).size()});
      }
    }
  }
  return foretold;
}

std::vector<Prediction> Recommend(const std::vector<CostLine>& lines, const Demand& demand) {
  std::vector<Prediction> predictions;
  for (const CostLine& line : lines) {
    predictions.push_back(Predict(line, demand));
  }
  std::stable_sort(predictions.begin(), predictions.end(), [](const Prediction& a, const Prediction& b) {
    if (a.objection.empty() != b.objection.empty()) {
      return a.objection.empty();
    }
    return a.samples_per_second > b.samples_per_second;
  });
  return predictions;
}

}  // namespace assay::report
