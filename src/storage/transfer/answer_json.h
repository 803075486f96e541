// The JSON of answers: any text is read or refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::storage {

/// Null for what is no JSON or nested too deep to be an answer.
nlohmann::json AnswerJson(std::string_view body);
/// The text under `key` of an object; empty where there is none.
std::string TextAt(const nlohmann::json& json, const char* key);
/// What names the next page, under `key`: empty for the last one. An error for what is there and is no text.
Result<std::string> NextPageAt(const nlohmann::json& json, const char* key);
/// The list under `key` of an object; an empty one where there is none. An error for anything else.
Result<const nlohmann::json*> ListAt(const nlohmann::json& json, const char* key);

}  // namespace assay::storage
