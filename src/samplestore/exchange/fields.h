// A measurement as one text for each of a fixed set of columns: what files of rows hold of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/measurement.h"

namespace assay::samplestore {

/// Names of the columns, in their order. Those of texts hold them as they are, the others JSON.
std::span<const std::string_view> FieldNames();

/// All of `measurement`, a field for each of FieldNames().
std::vector<std::string> FieldsOf(const Measurement& measurement);

/// `fields` as FieldsOf() makes them. An error names `where` and the column.
Result<Measurement> MeasurementFromFields(std::span<const std::string_view> fields, const std::string& where);

/// Likewise of its JSON form. Refuses one without a uid, an experiment or the ids of its point.
Result<Measurement> WholeMeasurement(const nlohmann::json& json, const std::string& where);

/// Where each of FieldNames() stands in `names`, which are the columns of `file`. Refuses other names than those, one
/// that is missing and one that comes twice, in one line that says what to do.
Result<std::vector<size_t>> PlacesOfFields(std::span<const std::string_view> names, const std::string& file);

}  // namespace assay::samplestore
