#include "samplestore/exchange/published/published_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "experiment/catalogue.h"
#include "report/export/csv.h"
#include "samplestore/dependencies.h"
#include "samplestore/exchange/published/published_point.h"

namespace assay::samplestore {
namespace {

using experiment::BoundPoint;
using experiment::Experiment;

constexpr std::string_view kIdentifier = "identifier";
constexpr std::string_view kExperimentId = "experiment_id";
constexpr std::string_view kMethod = "method";
constexpr std::string_view kIsValid = "is_valid";
constexpr std::string_view kGenerator = "generatorid";
constexpr std::string_view kMeasuredHere = "assay on ";

constexpr std::string_view kColumns[] = {"identifier",
                                         "generatorid",
                                         "experiment_id",
                                         "model_name",
                                         "method",
                                         "number_gpus",
                                         "gpu_model",
                                         "number_nodes",
                                         "tokens_per_sample",
                                         "batch_size",
                                         "enable_roce",
                                         "fast_moe",
                                         "fast_kernels",
                                         "fms_hf_tuning_version",
                                         "torch_dtype",
                                         "gpu_compute_utilization_min",
                                         "gpu_compute_utilization_avg",
                                         "gpu_compute_utilization_max",
                                         "gpu_memory_utilization_min",
                                         "gpu_memory_utilization_avg",
                                         "gpu_memory_utilization_max",
                                         "gpu_memory_utilization_peak",
                                         "gpu_power_watts_min",
                                         "gpu_power_watts_avg",
                                         "gpu_power_watts_max",
                                         "gpu_power_percent_min",
                                         "gpu_power_percent_avg",
                                         "gpu_power_percent_max",
                                         "cpu_compute_utilization",
                                         "cpu_memory_utilization",
                                         "train_runtime",
                                         "train_samples_per_second",
                                         "train_steps_per_second",
                                         "train_tokens_per_second",
                                         "train_tokens_per_gpu_per_second",
                                         "dataset_tokens_per_second",
                                         "dataset_tokens_per_second_per_gpu",
                                         "is_valid"};
static_assert(std::size(kColumns) == 38);

/// Ours, of a column of theirs.
std::string PropertyOf(std::string_view column) {
  return column == "tokens_per_sample" ? "model_max_length" : std::string(column);
}

const experiment::TargetSpec* FindTarget(const Experiment& experiment, std::string_view name) {
  const auto found = std::ranges::find(experiment.targets(), name, &experiment::TargetSpec::name);
  return found == experiment.targets().end() ? nullptr : &*found;
}

const std::string& CellOf(const PublishedRow& row, std::string_view column) {
  static const std::string kNone;
  const auto found = row.find(column);
  return found == row.end() ? kNone : found->second;
}

/// "['True', 'True', 'False']", as a list of Python is printed, is "True,True,False" here.
std::string PlainList(std::string cell) {
  if (cell.starts_with('[') || cell.starts_with('(')) {
    std::erase_if(cell, [](char c) { return std::string_view("[]()'\" ").find(c) != std::string_view::npos; });
  }
  return cell;
}

/// Adds what a column says of property `name`: nothing new where an id says it too, which must be the same.
Status AddProperty(const Experiment& experiment, const std::string& name, const std::string& cell,
                   space::Entity& entity, space::Entity& parameters) {
  ASSAY_ASSIGN_OR_RETURN(space::Value value,
                         experiment::CanonicalValue(experiment, name, space::ValueFromText(PlainList(cell))));
  for (const space::Entity* named : {&entity, &parameters}) {
    const auto found = named->find(name);
    if (found == named->end()) {
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const space::Value by_id, experiment::CanonicalValue(experiment, name, found->second));
    return by_id == value ? Status::Ok()
                          : Status::InvalidArgument(fmt::format("{} is {} by the row's ids and {} by its column", name,
                                                                space::ToString(by_id), space::ToString(value)));
  }
  const bool is_required = experiment::FindProperty(experiment, name)->required;
  (is_required ? entity : parameters)[name] = std::move(value);
  return Status::Ok();
}

Result<BoundPoint> PointOf(const PublishedRow& row) {
  ASSAY_ASSIGN_OR_RETURN(PublishedExperiment published, ReadExperimentId(CellOf(row, kExperimentId)));
  const Experiment& experiment = *published.experiment;
  ASSAY_ASSIGN_OR_RETURN(space::Entity entity, ReadEntityId(experiment, CellOf(row, kIdentifier)));
  for (const auto& [column, cell] : row) {
    const std::string name = PropertyOf(column);
    if (!cell.empty() && experiment::FindProperty(experiment, name) != nullptr) {
      ASSAY_RETURN_IF_ERROR(AddProperty(experiment, name, cell, entity, published.parameters));
    }
  }
  return experiment::BindPoint(experiment, entity, published.parameters);
}

Status TakeValues(const PublishedRow& row, const Experiment& experiment, Measurement& measurement) {
  for (const auto& [column, cell] : row) {
    const bool is_known = column == kIdentifier || column == kExperimentId || column == kMethod || column == kIsValid ||
                          experiment::FindProperty(experiment, PropertyOf(column)) != nullptr;
    const experiment::TargetSpec* target = FindTarget(experiment, column);
    if (cell.empty() || is_known) {
      continue;
    }
    if (target == nullptr) {
      measurement.provenance[column.empty() ? "row" : column] = cell;
      continue;
    }
    space::Value value = space::ValueFromText(cell);
    if (std::holds_alternative<std::string>(value)) {
      return Status::InvalidArgument(fmt::format("{} is '{}': expected a number", column, cell));
    }
    measurement.properties[column] = std::move(value);
    if (!target->unit.empty()) {
      measurement.units[column] = target->unit;
    }
  }
  return Status::Ok();
}

Status TakeOutcome(const PublishedRow& row, const BoundPoint& point, Measurement& measurement) {
  const std::string& is_valid = CellOf(row, kIsValid);
  const space::Value value = space::ValueFromText(is_valid);
  if (value == space::Value(int64_t{1}) || value == space::Value(1.0) || value == space::Value(true)) {
    measurement.outcome = Outcome::kValid;
    measurement.properties[std::string(kIsValid)] = int64_t{1};
    return Status::Ok();
  }
  if (value != space::Value(int64_t{0}) && value != space::Value(0.0) && value != space::Value(false)) {
    return Status::InvalidArgument(fmt::format("is_valid is '{}': expected 1 or 0", is_valid));
  }
  const experiment::Verdict verdict = point.experiment->Check(point.complete);
  measurement.outcome = Outcome::kInvalid;
  measurement.reason = verdict.valid() ? "published as not valid: it failed when it ran" : verdict.reason;
  measurement.properties.clear();
  measurement.units.clear();
  return Status::Ok();
}

/// Who published `measurement`, or, of one that was made here, its host.
std::string GeneratorOf(const Measurement& measurement) {
  const auto said = [](const auto& facts, std::string_view name) {
    const auto found = facts.find(std::string(name));
    return found == facts.end() ? std::string() : found->second;
  };
  const bool is_published = said(measurement.depends_on, kMachine) == kPublishedHost;
  return is_published ? said(measurement.provenance, kGenerator)
                      : fmt::format("{}{}", kMeasuredHere, said(measurement.provenance, "host"));
}

std::string HostOf(const PublishedRow& row) {
  const std::string& generator = CellOf(row, kGenerator);
  return generator.starts_with(kMeasuredHere) ? "published by " + generator : kPublishedHost;
}

/// A cell for each column.
std::vector<std::string> CellsOf(const Measurement& measurement, const BoundPoint& point) {
  std::vector<std::string> cells;
  for (const std::string_view column : kColumns) {
    const auto target = measurement.properties.find(std::string(column));
    const auto property = point.complete.find(PropertyOf(column));
    if (column == kIdentifier) {
      cells.push_back(measurement.entity_id);
    } else if (column == kExperimentId) {
      cells.push_back(PublishedExperimentId(measurement.parameterized_id));
    } else if (column == kGenerator) {
      cells.push_back(GeneratorOf(measurement));
    } else if (column == kMethod) {
      cells.push_back(point.experiment->declaration().method);
    } else if (column == kIsValid) {
      cells.emplace_back(measurement.outcome == Outcome::kValid ? "1" : "0");
    } else if (property != point.complete.end()) {
      cells.push_back(report::CsvField(property->second));
    } else if (target != measurement.properties.end()) {
      cells.push_back(report::CsvField(target->second));
    } else {
      const auto kept = measurement.provenance.find(std::string(column));
      cells.push_back(kept == measurement.provenance.end() ? "" : kept->second);
    }
  }
  return cells;
}

/// Of what the row means: it is the same however its cells and ids are written.
std::string UidOf(const Measurement& measurement, const BoundPoint& point, int64_t repeat) {
  std::string text = fmt::format("{}\n", repeat);
  report::AppendCsvLine(CellsOf(measurement, point), text);
  return Sha256Hex(text).substr(0, 32);
}

}  // namespace

std::span<const std::string_view> PublishedColumns() {
  return kColumns;
}

Result<Measurement> MeasurementOfRow(const PublishedRow& row, int64_t repeat) {
  ASSAY_ASSIGN_OR_RETURN(BoundPoint point, PointOf(row));
  Measurement measurement;
  measurement.experiment = point.experiment->id();
  measurement.parameterized_id = point.parameterized_id;
  measurement.entity = point.entity;
  measurement.entity_id = point.entity_id;
  measurement.parameters = point.parameters;
  ASSAY_RETURN_IF_ERROR(TakeValues(row, *point.experiment, measurement));
  ASSAY_RETURN_IF_ERROR(TakeOutcome(row, point, measurement));
  measurement.provenance["host"] = HostOf(row);
  if (const std::string& gpu = CellOf(row, "gpu_model"); !gpu.empty()) {
    measurement.provenance["gpu"] = gpu;
  }
  // No machine that explores here is of this kind, so that nothing of it is replayed as ours; where a reuse does not
  // ask for the machine, it asks for this.
  measurement.depends_on[kMachine] = kPublishedHost;
  measurement.depends_on[kPointsAtOnce] = kPublishedHost;
  measurement.uid = UidOf(measurement, point, repeat);
  return measurement;
}

Result<std::vector<std::string>> RowOfMeasurement(const Measurement& measurement) {
  ASSAY_ASSIGN_OR_RETURN(const Experiment* experiment, experiment::FindExperiment(measurement.experiment));
  if (experiment->declaration().actuator != "SFTTrainer") {
    return Status::InvalidArgument(fmt::format(
        "{} was never among the published results of ado's SFTTrainer: choose with --experiment", experiment->id()));
  }
  ASSAY_ASSIGN_OR_RETURN(const BoundPoint point,
                         experiment::BindPoint(*experiment, measurement.entity, measurement.parameters));
  return CellsOf(measurement, point);
}

}  // namespace assay::samplestore
