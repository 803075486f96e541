#include "engine/model/config_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "engine/model/status_error.h"

namespace assay::engine {

ConfigReader::ConfigReader(const nlohmann::json& object, std::string source)
    : object_(&object), source_(std::move(source)) {
  if (!object_->is_object()) {
    fail("must be a JSON object");
  }
}

void ConfigReader::fail(const std::string& message) const {
  throw StatusError(Status::InvalidArgument(source_ + ": " + message));
}

void ConfigReader::fail_value(std::string_view key, std::string_view expected, const nlohmann::json& got) const {
  fail(fmt::format("{} must be {}, not {}", key, expected, DumpJson(got)));
}

const nlohmann::json* ConfigReader::find(std::string_view key) const {
  const auto it = object_->find(key);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

const nlohmann::json& ConfigReader::require(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) {
    fail(fmt::format("key '{}' is missing", key));
  }
  return *value;
}

bool ConfigReader::has(std::string_view key) const {
  return find(key) != nullptr;
}

bool ConfigReader::contains(std::string_view key) const {
  return object_->contains(key);
}

int64_t ConfigReader::integer(std::string_view key, int64_t minimum) const {
  const nlohmann::json& value = require(key);
  if (!value.is_number_integer() || value.get<int64_t>() < minimum) {
    fail_value(key, fmt::format("an integer of at least {}", minimum), value);
  }
  return value.get<int64_t>();
}

int64_t ConfigReader::integer_or(std::string_view key, int64_t minimum, int64_t absent) const {
  return has(key) ? integer(key, minimum) : absent;
}

double ConfigReader::number(std::string_view key, const nlohmann::json& value, bool zero_allowed) const {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(number) || number < 0 || (number == 0 && !zero_allowed)) {
    fail_value(key, zero_allowed ? "a number of at least 0" : "a number greater than 0", value);
  }
  return number;
}

double ConfigReader::positive(std::string_view key) const {
  return number(key, require(key), false);
}

double ConfigReader::positive_or(std::string_view key, double absent) const {
  return has(key) ? positive(key) : absent;
}

double ConfigReader::non_negative_or(std::string_view key, double absent) const {
  return has(key) ? number(key, require(key), true) : absent;
}

bool ConfigReader::boolean_or(std::string_view key, bool absent) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) {
    return absent;
  }
  if (!value->is_boolean()) {
    fail_value(key, "true or false", *value);
  }
  return value->get<bool>();
}

std::string ConfigReader::text(std::string_view key) const {
  const nlohmann::json& value = require(key);
  if (!value.is_string()) {
    fail_value(key, "text", value);
  }
  return value.get<std::string>();
}

std::string ConfigReader::text_or(std::string_view key, std::string_view absent) const {
  return has(key) ? text(key) : std::string(absent);
}

std::optional<ConfigReader> ConfigReader::object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr || (value->is_object() && value->empty())) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    fail_value(key, "an object", *value);
  }
  return ConfigReader(*value, fmt::format("{}: {}", source_, key));
}

std::string config_path(const std::string& model_dir) {
  if (!IsDirectory(model_dir)) {
    throw StatusError(Status::NotFound(
        fmt::format("model folder {} does not exist: name a folder that holds config.json", model_dir)));
  }
  std::string path = model_dir + "/config.json";
  if (!FileExists(path)) {
    throw StatusError(
        Status::NotFound(fmt::format("model folder {} has no config.json: it is not a Hugging Face model", model_dir)));
  }
  return path;
}

}  // namespace assay::engine
