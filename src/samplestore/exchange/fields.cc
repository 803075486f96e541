#include "samplestore/exchange/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::samplestore {
namespace {

constexpr std::string_view kNames[] = {"schema",     "uid",        "experiment", "parameterized_id",
                                       "entity_id",  "outcome",    "reason",     "measured_at",
                                       "entity",     "parameters", "properties", "units",
                                       "provenance", "depends_on", "series",     kChecksumField};
constexpr std::string_view kTexts[] = {"uid",     "experiment", "parameterized_id", "entity_id",
                                       "outcome", "reason",     "measured_at",      kChecksumField};

bool IsText(std::string_view name) {
  return std::ranges::find(kTexts, name) != std::end(kTexts);
}

Status OtherColumns(const std::string& file, std::string_view which) {
  return Status::InvalidArgument(
      fmt::format("{}: {}: a file of measurements has the columns {}, as `assay store export` writes them", file, which,
                  fmt::join(kNames, ", ")));
}

}  // namespace

std::span<const std::string_view> FieldNames() {
  return kNames;
}

std::vector<std::string> FieldsOf(const Measurement& measurement, ContentChain& chain) {
  nlohmann::json json = ToJson(measurement);
  json[kChecksumField] = chain.Next(json);
  std::vector<std::string> fields;
  for (const std::string_view name : kNames) {
    const auto found = json.find(name);
    if (found == json.end()) {
      fields.emplace_back();
    } else {
      fields.push_back(IsText(name) ? found->get<std::string>() : DumpJson(*found));
    }
  }
  return fields;
}

FieldReader::FieldReader(std::span<const size_t> places) : has_checksums_(places.back() != kNoPlace) {}

Result<Measurement> FieldReader::Read(std::span<const std::string_view> fields, const std::string& where) {
  auto json = nlohmann::json::object();
  for (size_t i = 0; i + 1 < std::size(kNames); ++i) {
    const std::string name(kNames[i]);
    if (IsText(name)) {
      json[name] = fields[i];
    } else if (!fields[i].empty()) {
      ASSAY_ASSIGN_OR_RETURN(json[name], ParseJson(fields[i], fmt::format("{}: column '{}'", where, name)));
    }
  }
  if (has_checksums_) {
    ASSAY_RETURN_IF_ERROR(chain_.Check(json, fields.back(), where));
  }
  return WholeMeasurement(json, where);
}

Result<Measurement> WholeMeasurement(const nlohmann::json& json, const std::string& where) {
  Result<Measurement> measurement = MeasurementFromJson(json);
  if (!measurement.ok()) {
    return measurement.status().WithContext(where);
  }
  for (const auto& [name, text] :
       {std::pair("uid", &measurement->uid), std::pair("experiment", &measurement->experiment),
        std::pair("parameterized_id", &measurement->parameterized_id),
        std::pair("entity_id", &measurement->entity_id)}) {
    if (text->empty()) {
      return Status::InvalidArgument(fmt::format("{}: a measurement needs '{}'", where, name));
    }
  }
  if (const std::string id = space::EntityId(measurement->entity); id != measurement->entity_id) {
    return Status::InvalidArgument(fmt::format("{}: 'entity_id' is {}, but that of its 'entity' is {}", where,
                                               measurement->entity_id, id.empty() ? "empty" : id));
  }
  return measurement;
}

Result<std::vector<size_t>> PlacesOfFields(std::span<const std::string_view> names, const std::string& file) {
  for (const std::string_view name : names) {
    if (std::ranges::find(kNames, name) == std::end(kNames)) {
      return OtherColumns(file, fmt::format("column '{}' is not known", name));
    }
    if (std::ranges::count(names, name) > 1) {
      return OtherColumns(file, fmt::format("column '{}' comes twice", name));
    }
  }
  std::vector<size_t> places;
  for (const std::string_view name : kNames) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end() && name != kChecksumField) {
      return OtherColumns(file, fmt::format("column '{}' is missing", name));
    }
    places.push_back(found == names.end() ? kNoPlace : static_cast<size_t>(found - names.begin()));
  }
  return places;
}

}  // namespace assay::samplestore
