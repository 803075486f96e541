#include "report/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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

struct Samples {
  std::vector<double> batch;
  std::vector<double> value;
};

Samples SamplesOf(const ResultSet& results, const std::vector<const Configuration*>& points, const Metric* metric) {
  Samples samples;
  for (const Configuration* point : points) {
    const std::optional<double> batch = BatchOf(results, *point);
    const std::optional<Estimate> estimate = metric == nullptr ? std::nullopt : EstimateOf(*point, *metric);
    if (batch && estimate) {
      samples.batch.push_back(*batch);
      samples.value.push_back(estimate->value);
    }
  }
  return samples;
}

bool SameButForBatch(const ResultSet& results, const Configuration& a, const Configuration& b) {
  return std::all_of(results.varying().begin(), results.varying().end(), [&](const std::string& property) {
    return IsBatchSize(results, property) || a.At(property) == b.At(property);
  });
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

std::vector<std::vector<const Configuration*>> SeriesOverBatch(const ResultSet& results) {
  std::vector<std::vector<const Configuration*>> series;
  for (const Configuration& configuration : results.configurations()) {
    const auto same = [&](const auto& points) { return SameButForBatch(results, *points.front(), configuration); };
    const auto found = std::find_if(series.begin(), series.end(), same);
    if (found == series.end()) {
      series.push_back({&configuration});
    } else {
      found->push_back(&configuration);
    }
  }
  return series;
}

/// Of the first valid run that tells how many samples its steps had; 1 when none does.
double SamplesPerBatch(const ResultSet& results, const std::vector<const Configuration*>& points) {
  for (const Configuration* point : points) {
    const std::optional<double> batch = BatchOf(results, *point);
    for (const samplestore::Measurement* run : point->CountedRuns()) {
      const auto number = [&](MetricKind kind) { return NumberOf(results.declared(), *run, kind); };
      const std::optional<double> steps = number(MetricKind::kSteps);
      const std::optional<double> rate = number(MetricKind::kSampleRate);
      const std::optional<double> seconds = number(MetricKind::kSampleSeconds);
      const std::optional<double> samples = rate && seconds ? *rate * *seconds : number(MetricKind::kSamples);
      if (batch && steps && samples && *steps * *batch > 0) {
        return std::max(1.0, std::round(*samples / (*steps * *batch)));
      }
    }
  }
  return 1;
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

bool OnTheSameMachine(const ResultSet& results, const CostLine& a, const CostLine& b) {
  constexpr std::array kOfMachines = {experiment::Role::kGpus, experiment::Role::kMachine};
  const auto alike = [&](std::string_view property) {
    return ValueAt(*a.points.front(), property) == ValueAt(*b.points.front(), property);
  };
  return std::ranges::all_of(results.declared().PropertiesWith(kOfMachines), alike) &&
         std::ranges::all_of(results.conditions(), alike);
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
