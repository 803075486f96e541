// Numbers and JSON as Python writes them: what makes columns of text equal byte for byte.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::shards {

/// Appends str(value): the shortest digits that give `value` again, "1e+16" and "0.0001", "inf", "nan".
void AppendPythonFloat(std::string& out, double value);

/// Appends json.dumps(text) of a str: ASCII, everything else as \uXXXX.
void AppendPythonString(std::string& out, std::string_view text);

/// Appends json.dumps(json.loads(json)): ", " and ": " between, ASCII, keys in their order, the last of several of one
/// name where the first stood, integers of any size. InvalidArgument where it is not JSON, or deeper than 500.
Status AppendPythonJson(std::string& out, std::string_view json);

/// json.dumps(json, sort_keys=True).
std::string PythonDumps(const nlohmann::json& json);

/// Appends str(decimal.Decimal(text)). InvalidArgument where `text` is no finite decimal number.
Status AppendPythonDecimal(std::string& out, std::string_view text);

}  // namespace assay::shards
