#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "report/export/csv.h"
#include "report/results_table.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

/// What was asked for, whether a space names it as a property or an experiment's parameterization does.
space::Entity PointOf(const Measurement& measurement) {
  space::Entity point = measurement.entity;
  point.insert(measurement.parameters.begin(), measurement.parameters.end());
  return point;
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

}  // namespace

void ResultsCsv::AddColumns(const Measurement& measurement) {
  for (const auto& [name, value] : PointOf(measurement)) {
    entity_.insert(name);
  }
  for (const auto& [name, value] : measurement.properties) {
    targets_.insert(name);
  }
  for (const auto& [name, value] : measurement.provenance) {
    provenance_.insert(name);
  }
}

std::string ResultsCsv::Header() const {
  std::vector<std::string> fields = {"experiment", "parameterized_id", "entity_id", "outcome",
                                     "reason",     "measured_at",      "uid"};
  fields.insert(fields.end(), entity_.begin(), entity_.end());
  for (const std::string& name : targets_) {
    fields.push_back(entity_.contains(name) ? "measured." + name : name);
  }
  for (const std::string& name : provenance_) {
    fields.push_back("provenance." + name);
  }
  std::string line;
  AppendCsvLine(fields, line);
  return line;
}

std::string ResultsCsv::Line(const Measurement& measurement) const {
  std::vector<std::string> fields = {measurement.experiment, measurement.parameterized_id,
                                     measurement.entity_id,  std::string(samplestore::ToString(measurement.outcome)),
                                     measurement.reason,     measurement.measured_at,
                                     measurement.uid};
  AppendFields(PointOf(measurement), entity_, fields);
  AppendFields(measurement.properties, targets_, fields);
  AppendFields(measurement.provenance, provenance_, fields);
  std::string line;
  AppendCsvLine(fields, line);
  return line;
}

std::string RenderResultsCsv(std::span<const Measurement> measurements) {
  ResultsCsv rows;
  for (const Measurement& measurement : measurements) {
    rows.AddColumns(measurement);
  }
  std::string csv = rows.Header();
  for (const Measurement& measurement : measurements) {
    csv += rows.Line(measurement);
  }
  return csv;
}

void ResultsJson::Add(const Measurement& measurement, std::string& json) {
  // A line's end within a text is escaped: each of those here is one of the object's own.
  std::string object = DumpJsonPretty(samplestore::ToJson(measurement));
  object.pop_back();
  json += is_empty_ ? "[\n  " : ",\n  ";
  is_empty_ = false;
  for (const char c : object) {
    json += c;
    json += c == '\n' ? "  " : "";
  }
}

std::string ResultsJson::End() const {
  return is_empty_ ? "[]\n" : "\n]\n";
}

std::string RenderResultsJson(std::span<const Measurement> measurements) {
  ResultsJson list;
  std::string json;
  for (const Measurement& measurement : measurements) {
    list.Add(measurement, json);
  }
  return json + list.End();
}

}  // namespace assay::report
