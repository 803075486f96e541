#include "samplestore/measurement.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "samplestore/measurement_schema1.h"

namespace assay::samplestore {
namespace {

constexpr std::string_view kOutcomes[] = {"valid", "invalid", "failed"};

nlohmann::json ToJson(const std::map<std::string, space::Value>& values) {
  auto json = nlohmann::json::object();
  for (const auto& [name, value] : values) {
    json[name] = space::ToJson(value);
  }
  return json;
}

Status ReadValues(const nlohmann::json& json, const char* key, std::map<std::string, space::Value>& values) {
  if (!json.contains(key)) {
    return Status::Ok();
  }
  for (const auto& [name, item] : json[key].items()) {
    ASSAY_ASSIGN_OR_RETURN(values[name], space::ValueFromJson(item));
  }
  return Status::Ok();
}

Status ReadTexts(const nlohmann::json& json, const char* key, std::map<std::string, std::string>& texts) {
  if (!json.contains(key)) {
    return Status::Ok();
  }
  for (const auto& [name, item] : json[key].items()) {
    if (!item.is_string()) {
      return Status::InvalidArgument(fmt::format("'{}' of '{}' must be a text", name, key));
    }
    texts[name] = item.get<std::string>();
  }
  return Status::Ok();
}

// JSON has no numbers for these; what is no number is null.
constexpr char kInfinity[] = "Infinity";
constexpr char kMinusInfinity[] = "-Infinity";

nlohmann::json ToJson(const std::map<std::string, std::vector<double>>& series) {
  auto json = nlohmann::json::object();
  for (const auto& [name, values] : series) {
    nlohmann::json& list = json[name] = values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isinf(values[i])) {
        list[i] = values[i] > 0 ? kInfinity : kMinusInfinity;
      }
    }
  }
  return json;
}

double SampleFromJson(const nlohmann::json& json) {
  if (json == kInfinity || json == kMinusInfinity) {
    return json == kInfinity ? HUGE_VAL : -HUGE_VAL;
  }
  return json.is_number() ? json.get<double>() : std::nan("");
}

Status ReadSeries(const nlohmann::json& json, std::map<std::string, std::vector<double>>& series) {
  if (!json.contains("series")) {
    return Status::Ok();
  }
  for (const auto& [name, item] : json["series"].items()) {
    std::vector<double>& values = series[name];
    for (const nlohmann::json& value : item) {
      values.push_back(SampleFromJson(value));
    }
  }
  return Status::Ok();
}

Result<int64_t> ReadSchema(const nlohmann::json& json) {
  if (!json.is_object()) {
    return Status::InvalidArgument("a measurement must be a JSON object");
  }
  int64_t schema = Measurement::kSchema;
  ASSAY_RETURN_IF_ERROR(ReadField(json, "schema", schema));
  if (schema > Measurement::kSchema) {
    return Status::FailedPrecondition(
        fmt::format("this measurement has schema {}, but this program knows schemas up to {}: use a newer version",
                    schema, Measurement::kSchema));
  }
  return schema;
}

}  // namespace

bool EndedEarly(const Measurement& measurement) {
  return measurement.outcome == Outcome::kFailed && measurement.provenance.contains(kEndedEarly);
}

std::string_view ToString(Outcome outcome) {
  return kOutcomes[static_cast<int>(outcome)];
}

Result<Outcome> OutcomeFromString(std::string_view text) {
  for (const Outcome outcome : {Outcome::kValid, Outcome::kInvalid, Outcome::kFailed}) {
    if (ToString(outcome) == text) {
      return outcome;
    }
  }
  return Status::InvalidArgument(fmt::format("unknown outcome '{}': expected valid, invalid or failed", text));
}

nlohmann::json ToJson(const Measurement& measurement) {
  nlohmann::json json = {{"schema", Measurement::kSchema},
                         {"uid", measurement.uid},
                         {"experiment", measurement.experiment},
                         {"parameterized_id", measurement.parameterized_id},
                         {"entity", ToJson(measurement.entity)},
                         {"entity_id", measurement.entity_id},
                         {"parameters", ToJson(measurement.parameters)},
                         {"outcome", ToString(measurement.outcome)},
                         {"reason", measurement.reason},
                         {"properties", ToJson(measurement.properties)},
                         {"units", measurement.units},
                         {"provenance", measurement.provenance},
                         {"depends_on", measurement.depends_on},
                         {"measured_at", measurement.measured_at}};
  if (!measurement.series.empty()) {
    json["series"] = ToJson(measurement.series);
  }
  return json;
}

Result<Measurement> MeasurementFromJson(const nlohmann::json& json) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t schema, ReadSchema(json));
  Measurement measurement;
  std::string outcome;
  ASSAY_RETURN_IF_ERROR(ReadField(json, "uid", measurement.uid));
  ASSAY_RETURN_IF_ERROR(ReadField(json, "experiment", measurement.experiment));
  ASSAY_RETURN_IF_ERROR(ReadField(json, "parameterized_id", measurement.parameterized_id));
  ASSAY_RETURN_IF_ERROR(ReadField(json, "entity_id", measurement.entity_id));
  ASSAY_RETURN_IF_ERROR(ReadField(json, "outcome", outcome));
  ASSAY_RETURN_IF_ERROR(ReadField(json, "reason", measurement.reason));
  ASSAY_RETURN_IF_ERROR(ReadField(json, "measured_at", measurement.measured_at));
  ASSAY_ASSIGN_OR_RETURN(measurement.outcome, OutcomeFromString(outcome));
  ASSAY_RETURN_IF_ERROR(ReadValues(json, "entity", measurement.entity));
  ASSAY_RETURN_IF_ERROR(ReadValues(json, "parameters", measurement.parameters));
  ASSAY_RETURN_IF_ERROR(ReadValues(json, "properties", measurement.properties));
  ASSAY_RETURN_IF_ERROR(ReadTexts(json, "units", measurement.units));
  ASSAY_RETURN_IF_ERROR(ReadTexts(json, "provenance", measurement.provenance));
  ASSAY_RETURN_IF_ERROR(ReadTexts(json, "depends_on", measurement.depends_on));
  ASSAY_RETURN_IF_ERROR(ReadSeries(json, measurement.series));
  if (schema < Measurement::kSchema) {
    UpgradeFromSchema1(measurement);
  }
  return measurement;
}

}  // namespace assay::samplestore
