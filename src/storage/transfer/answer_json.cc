#include "storage/transfer/answer_json.h"

#include <utility>

#include "base/json.h"
#include "storage/list_checks.h"

namespace assay::storage {

nlohmann::json AnswerJson(std::string_view body) {
  Result<nlohmann::json> json = ParseJson(body, "the answer");
  return json.ok() ? *std::move(json) : nlohmann::json();
}

std::string TextAt(const nlohmann::json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::string> NextPageAt(const nlohmann::json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || found->is_null()) {
    return std::string();
  }
  return found->is_string() ? Result<std::string>(found->get<std::string>())
                            : ContradictoryList(std::string("it goes on, and its ") + key + " is no text");
}

Result<const nlohmann::json*> ListAt(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNone = nlohmann::json::array();
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || found->is_null()) {
    return &kNone;
  }
  return found->is_array() ? Result<const nlohmann::json*>(&*found)
                           : Status::Io(std::string("its ") + key + " are no list");
}

}  // namespace assay::storage
