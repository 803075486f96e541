// JSON and YAML read into plain structs, with errors that name the file, the line and the nearest known key.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay {

/// Parses `text`; an error names `source` and the line, never a byte offset or an exception id.
Result<nlohmann::json> ParseJson(std::string_view text, std::string_view source);
Result<nlohmann::json> ReadJsonFile(const std::string& path);

/// One line of JSON. Non-finite numbers become null; invalid UTF-8 is replaced.
std::string DumpJson(const nlohmann::json& json);
/// Indented by two spaces, with a newline at the end.
std::string DumpJsonPretty(const nlohmann::json& json);

/// The first known name that begins with `name`, else the nearest by edit distance, or empty when none is near: for
/// "did you mean ...?". Case does not count.
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

/// An error for the first key of object `json` that is not in `known`: "unknown key 'batchsize' (did you mean
/// 'batch_size'?)".
Status CheckKeys(const nlohmann::json& json, const std::vector<std::string>& known, std::string_view source);

/// Reads key `key` of object `json` into `target` when it is present and not null; an error names the key and the type
/// that was expected, and leaves `target` as it was.
/// Instantiated for bool, int64_t, uint64_t, double, std::string, std::vector<std::string>, std::vector<int64_t>,
/// std::vector<double>.
template <typename T>
Status ReadField(const nlohmann::json& json, std::string_view key, T& target);

}  // namespace assay
