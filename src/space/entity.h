// Values, entities and their canonical ids.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"

namespace assay::space {

/// A property's value. `monostate` is "None".
using Value = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// One point of a space: property identifier to value. The map's order is the canonical one.
using Entity = std::map<std::string, Value>;

/// The text of a value as it stands in ids and on the command line: None, True, False, 4, 0.00001, smollm2-135m.
/// Integral doubles print without a fraction, so 4 and 4.0 are the same point; others with at most 10 decimals.
std::string ToString(const Value& value);

/// Reads a value off a command line: None, True/False (any case), integer, float, else text.
Value ValueFromText(std::string_view text);

nlohmann::json ToJson(const Value& value);
Result<Value> ValueFromJson(const nlohmann::json& json);

/// "batch_size.4-model_name.smollm2-135m-...": properties in alphabetical order, whatever order they were given in.
std::string EntityId(const Entity& entity);

}  // namespace assay::space
