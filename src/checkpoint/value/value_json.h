// Values as JSON, exactly: what safetensors and .metadata cannot hold stands in their texts and in manifests.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// None, booleans, 64-bit numbers, texts and lists are JSON's own; everything else is an object with one key that
/// begins with '$': {"$dict": [[key, value], ...]}, {"$tuple": [...]}, {"$bytes": base64}, and so on. Unsupported where
/// a tensor is in it, or it is nested too deep for JSON that is read again.
Result<nlohmann::json> ValueToJson(const Value& value);

/// What stands in the place of leaves.
enum class LeafForm {
  kNames,          ///< {"$leaf": name} for all
  kNamesAndPlain,  ///< of tensors that; other leaves as they are
};
/// The tree whose leaves Flatten() gives; Unsupported likewise.
Result<nlohmann::json> StructureToJson(const Value& root, LeafForm form);

/// Of what those two make, with the leaves by their names; InvalidArgument, naming `source`, for anything else, for
/// objects whose class is not among the names that pickles may use, and for tensors that have no place in it.
Result<Value> ValueFromJson(const nlohmann::json& json, const std::map<std::string, Value>& leaves,
                            const std::string& source);

}  // namespace assay::checkpoint
