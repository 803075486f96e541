#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/json.h"
#include "report/export/csv.h"
#include "report/results_table.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

struct Columns {
  std::set<std::string> entity;
  std::set<std::string> targets;
  std::set<std::string> provenance;
};

/// What was asked for, whether a space names it as a property or an experiment's parameterization does.
space::Entity PointOf(const Measurement& measurement) {
  space::Entity point = measurement.entity;
  point.insert(measurement.parameters.begin(), measurement.parameters.end());
  return point;
}

Columns FindColumns(std::span<const Measurement> measurements) {
  Columns columns;
  for (const Measurement& measurement : measurements) {
    for (const auto& [name, value] : PointOf(measurement)) {
      columns.entity.insert(name);
    }
    for (const auto& [name, value] : measurement.properties) {
      columns.targets.insert(name);
    }
    for (const auto& [name, value] : measurement.provenance) {
      columns.provenance.insert(name);
    }
  }
  return columns;
}

template <typename Map>
void AppendFields(const Map& map, const std::set<std::string>& columns, std::vector<std::string>& fields) {
  for (const std::string& column : columns) {
    const auto found = map.find(column);
    if (found == map.end()) {
      fields.emplace_back();
    } else if constexpr (std::is_same_v<typename Map::mapped_type, std::string>) {
      fields.push_back(found->second);
    } else {
      fields.push_back(CsvField(found->second));
    }
  }
}

std::vector<std::string> HeaderFields(const Columns& columns) {
  std::vector<std::string> fields = {"experiment", "parameterized_id", "entity_id", "outcome",
                                     "reason",     "measured_at",      "uid"};
  fields.insert(fields.end(), columns.entity.begin(), columns.entity.end());
  for (const std::string& name : columns.targets) {
    fields.push_back(columns.entity.contains(name) ? "measured." + name : name);
  }
  for (const std::string& name : columns.provenance) {
    fields.push_back("provenance." + name);
  }
  return fields;
}

std::vector<std::string> RowFields(const Measurement& measurement, const Columns& columns) {
  std::vector<std::string> fields = {measurement.experiment, measurement.parameterized_id,
                                     measurement.entity_id,  std::string(samplestore::ToString(measurement.outcome)),
                                     measurement.reason,     measurement.measured_at,
                                     measurement.uid};
  AppendFields(PointOf(measurement), columns.entity, fields);
  AppendFields(measurement.properties, columns.targets, fields);
  AppendFields(measurement.provenance, columns.provenance, fields);
  return fields;
}

}  // namespace

std::string RenderResultsCsv(std::span<const Measurement> measurements) {
  const Columns columns = FindColumns(measurements);
  std::string csv;
  AppendCsvLine(HeaderFields(columns), csv);
  for (const Measurement& measurement : measurements) {
    AppendCsvLine(RowFields(measurement, columns), csv);
  }
  return csv;
}

std::string RenderResultsJson(std::span<const Measurement> measurements) {
  nlohmann::json list = nlohmann::json::array();
  for (const Measurement& measurement : measurements) {
    list.push_back(samplestore::ToJson(measurement));
  }
  return DumpJsonPretty(list);
}

}  // namespace assay::report
