#include "samplestore/exchange/ado/sample_store_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "samplestore/dependencies.h"
#include "samplestore/exchange/ado/copied_source.h"
#include "samplestore/exchange/csv_records.h"

namespace assay::samplestore {
namespace {

using Row = std::map<std::string, std::string>;

/// An experiment of a source, and what is known of it here.
struct Columns {
  CopiedExperiment copied;
  const experiment::Experiment* known = nullptr;  ///< nullptr: it is none of ours
};

/// Where the file leaves out which columns are an experiment's, those that are named as it names them.
void FindOwnColumns(const std::vector<std::string>& names, Columns& columns) {
  const auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const std::string observed = columns.copied.identifier + "-";
  const bool finds_targets = columns.copied.targets.empty();
  const bool finds_properties = columns.copied.properties.empty();
  for (const experiment::TargetSpec& target : columns.known->targets()) {
    const std::string column = has(target.name) ? target.name : observed + target.name;
    if (finds_targets && has(column)) {
      columns.copied.targets[target.name] = column;
    }
  }
  for (const std::string& name : names) {
    if (finds_properties && experiment::FindProperty(*columns.known, name) != nullptr) {
      columns.copied.properties[name] = name;
    }
  }
}

Status CheckColumns(const CopiedSource& source, const Columns& columns, const std::vector<std::string>& names) {
  std::vector<std::string> asked = {source.id_column};
  for (const auto* map : {&columns.copied.properties, &columns.copied.targets}) {
    for (const auto& [name, column] : *map) {
      asked.push_back(column);
    }
  }
  for (const std::string& column : asked) {
    if (std::ranges::find(names, column) == names.end()) {
      return Status::InvalidArgument(
          fmt::format("{}: {} has no column '{}'", columns.copied.where, source.path, column));
    }
  }
  return columns.copied.targets.empty()
             ? Status::InvalidArgument(fmt::format("{}: no column of {} is said to be a target of {}: give "
                                                   "'observedPropertyMap'",
                                                   columns.copied.where, source.path, columns.copied.identifier))
             : Status::Ok();
}

Result<std::vector<Columns>> CopiedColumns(const CopiedSource& source, const std::vector<std::string>& names) {
  std::vector<Columns> all;
  for (const CopiedExperiment& copied : source.experiments) {
    const auto known = experiment::FindExperiment(copied.identifier);
    Columns& columns = all.emplace_back(copied, known.ok() ? *known : nullptr);
    if (columns.known != nullptr) {
      FindOwnColumns(names, columns);
    }
    ASSAY_RETURN_IF_ERROR(CheckColumns(source, columns, names));
  }
  return all;
}

/// The point of a row, as it is named here where the experiment is known.
Status TakePoint(const Columns& columns, const CopiedSource& source, const Row& row, Measurement& measurement) {
  measurement.experiment = columns.copied.identifier;
  measurement.parameterized_id = columns.copied.identifier;
  for (const auto& [property, column] : columns.copied.properties) {
    const auto* const spec = columns.known == nullptr ? nullptr : experiment::FindProperty(*columns.known, property);
    const bool is_optional = spec != nullptr && !spec->required;
    const std::string& cell = row.at(column);
    if (!cell.empty()) {
      (is_optional ? measurement.parameters : measurement.entity)[property] = space::ValueFromText(cell);
    }
  }
  if (columns.known == nullptr) {
    if (measurement.entity.empty()) {
      measurement.entity[source.id_column] = row.at(source.id_column);
    }
    measurement.entity_id = space::EntityId(measurement.entity);
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(experiment::BoundPoint point,
                         experiment::BindPoint(*columns.known, measurement.entity, measurement.parameters));
  measurement.experiment = columns.known->id();
  measurement.parameterized_id = std::move(point.parameterized_id);
  measurement.entity = std::move(point.entity);
  measurement.entity_id = std::move(point.entity_id);
  measurement.parameters = std::move(point.parameters);
  return Status::Ok();
}

void TakeCopiedValues(const Columns& columns, const Row& row, Measurement& measurement) {
  for (const auto& [target, column] : columns.copied.targets) {
    if (const std::string& cell = row.at(column); !cell.empty()) {
      measurement.properties[target] = space::ValueFromText(cell);
    }
  }
  if (columns.known == nullptr) {
    return;
  }
  for (const experiment::TargetSpec& target : columns.known->targets()) {
    if (!target.unit.empty() && measurement.properties.contains(target.name)) {
      measurement.units[target.name] = target.unit;
    }
  }
}

/// How often each text was seen in a source.
using SeenTexts = std::map<std::string, int64_t>;

/// The same for the same row, wherever it stands; rows that say the same are told apart by how many were `seen`.
std::string CopiedUid(const Measurement& measurement, const CopiedSource& source, SeenTexts& seen) {
  std::string text = fmt::format("{}\n{}\n", measurement.parameterized_id, measurement.entity_id);
  for (const auto& [name, value] : measurement.properties) {
    text += fmt::format("{}={}\n", name, space::ToString(value));
  }
  const int64_t place = seen[text]++;
  return Sha256Hex(fmt::format("{}\n{}\n{}", source.generator, place, text)).substr(0, 32);
}

Result<Measurement> MeasurementOf(const Columns& columns, const CopiedSource& source, const Row& row, SeenTexts& seen) {
  Measurement measurement;
  ASSAY_RETURN_IF_ERROR(TakePoint(columns, source, row, measurement));
  TakeCopiedValues(columns, row, measurement);
  const std::string host = "copied from " + source.generator;
  measurement.outcome = Outcome::kValid;
  measurement.provenance = {{"host", host}, {"identifier", row.at(source.id_column)}};
  // Of no machine that explores here, so that nothing of it is replayed as ours.
  measurement.depends_on = {{kMachine, host}, {kPointsAtOnce, host}};
  measurement.uid = CopiedUid(measurement, source, seen);
  return measurement;
}

Result<std::vector<std::string>> ReadTrimmedNames(CsvRecords& records) {
  ASSAY_ASSIGN_OR_RETURN(const auto fields, records.Next());
  std::vector<std::string> names;
  for (const std::string_view field : fields) {
    names.emplace_back(Trim(field));
  }
  return names;
}

Result<Row> ReadCells(CsvRecords& records, const std::vector<std::string>& names) {
  ASSAY_ASSIGN_OR_RETURN(const auto fields, records.Next());
  if (fields.size() != names.size()) {
    return Status::InvalidArgument(
        fmt::format("{}: {} fields, where there are {} columns", records.Where(), fields.size(), names.size()));
  }
  Row row;
  for (size_t i = 0; i < names.size(); ++i) {
    row.emplace(names[i], Trim(fields[i]));
  }
  return row;
}

Status CopySource(const CopiedSource& source, const std::function<Status(Measurement)>& take) {
  ASSAY_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(source.path));
  CsvRecords records(source.path, file->text());
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadTrimmedNames(records));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Columns> experiments, CopiedColumns(source, names));
  SeenTexts seen;
  while (!records.at_end()) {
    ASSAY_ASSIGN_OR_RETURN(const Row row, ReadCells(records, names));
    for (const Columns& columns : experiments) {
      Result<Measurement> measurement = MeasurementOf(columns, source, row, seen);
      if (!measurement.ok()) {
        return measurement.status().WithContext(records.Where());
      }
      if (!measurement->properties.empty()) {
        ASSAY_RETURN_IF_ERROR(take(*std::move(measurement)));
      }
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<MeasurementWriter>> CreateSampleStoreFile(const std::string& path) {
  return Status::InvalidArgument(
      fmt::format("{}: a sample store's file of ado is only read: choose another name or --format", path));
}

Status ReadSampleStoreFile(const std::string& path, const std::function<Status(Measurement)>& take) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<CopiedSource> sources, ReadCopiedSources(path));
  for (const CopiedSource& source : sources) {
    ASSAY_RETURN_IF_ERROR(CopySource(source, take));
  }
  return Status::Ok();
}

}  // namespace assay::samplestore
