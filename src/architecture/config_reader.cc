#include "architecture/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files.h"
#include "base/json.h"

namespace assay::architecture {

ConfigReader::ConfigReader(const nlohmann::json& object, std::string source)
    : ConfigReader(object, std::move(source), std::make_shared<Status>()) {
  if (!object_->is_object()) {
    Fail("must be a JSON object");
  }
}

ConfigReader::ConfigReader(const nlohmann::json& object, std::string source, std::shared_ptr<Status> first_error)
    : object_(&object), source_(std::move(source)), first_error_(std::move(first_error)) {}

void ConfigReader::Fail(const std::string& message) {
  if (first_error_->ok()) {
    *first_error_ = Status::InvalidArgument(source_ + ": " + message);
  }
}

void ConfigReader::FailValue(std::string_view key, std::string_view expected, const nlohmann::json& got) {
  Fail(fmt::format("{} must be {}, not {}", key, expected, DumpJson(got)));
}

const nlohmann::json* ConfigReader::Find(std::string_view key) const {
  const auto it = object_->find(key);  // the end, where this is no object
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

const nlohmann::json* ConfigReader::Require(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    Fail(fmt::format("key '{}' is missing", key));
  }
  return value;
}

bool ConfigReader::Has(std::string_view key) const {
  return Find(key) != nullptr;
}

bool ConfigReader::Contains(std::string_view key) const {
  return object_->contains(key);
}

std::vector<std::string> ConfigReader::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items()) {
    keys.push_back(key);
  }
  return keys;
}

bool ConfigReader::HoldsObjects() const {
  return std::ranges::any_of(*object_, &nlohmann::json::is_object);
}

int64_t ConfigReader::Integer(std::string_view key, int64_t minimum, int64_t maximum) {
  const nlohmann::json* value = Require(key);
  if (value == nullptr) {
    return minimum;
  }
  const int64_t number = value->is_number_integer() ? value->get<int64_t>() : minimum;
  if (!value->is_number_integer() || number < minimum || number > maximum) {
    const std::string at_most = maximum < INT64_MAX ? fmt::format(" and at most {}", maximum) : "";
    FailValue(key, fmt::format("an integer of at least {}{}", minimum, at_most), *value);
    return minimum;
  }
  return number;
}

int64_t ConfigReader::IntegerOr(std::string_view key, int64_t minimum, int64_t absent) {
  return Has(key) ? Integer(key, minimum) : absent;
}

double ConfigReader::Number(std::string_view key, const nlohmann::json& value, bool zero_allowed) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(number) || number < 0 || (number == 0 && !zero_allowed)) {
    FailValue(key, zero_allowed ? "a number of at least 0" : "a number greater than 0", value);
    return zero_allowed ? 0 : 1;
  }
  return number;
}

double ConfigReader::Positive(std::string_view key) {
  const nlohmann::json* value = Require(key);
  return value == nullptr ? 1 : Number(key, *value, false);
}

double ConfigReader::PositiveOr(std::string_view key, double absent) {
  return Has(key) ? Positive(key) : absent;
}

double ConfigReader::NonNegativeOr(std::string_view key, double absent) {
  const nlohmann::json* value = Find(key);
  return value == nullptr ? absent : Number(key, *value, true);
}

std::pair<double, double> ConfigReader::LimitsOr(std::string_view key, double absent) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return {absent, kInfinity};
  }
  const auto number = [](const nlohmann::json& item) {
    const bool is_infinite = item == nlohmann::json{{"__float__", "Infinity"}};
    return item.is_number() ? item.get<double>() : (is_infinite ? kInfinity : -1);
  };
  const bool are_two = value->is_array() && value->size() == 2;
  const double low = are_two ? number((*value)[0]) : -1;
  const double high = are_two ? number((*value)[1]) : -1;
  if (!(low >= 0 && low < kInfinity && high >= low)) {
    FailValue(key, "a list of two numbers of at least 0 in order", *value);
    return {absent, kInfinity};
  }
  return {low, high};
}

bool ConfigReader::IsZero(std::string_view key) const {
  const nlohmann::json* value = Find(key);
  return value != nullptr && value->is_number() && value->get<double>() == 0;
}

bool ConfigReader::IsText(std::string_view key) const {
  const nlohmann::json* value = Find(key);
  return value != nullptr && value->is_string();
}

bool ConfigReader::BooleanOr(std::string_view key, bool absent) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return absent;
  }
  if (!value->is_boolean()) {
    FailValue(key, "true or false", *value);
    return false;
  }
  return value->get<bool>();
}

std::string ConfigReader::Text(std::string_view key) {
  const nlohmann::json* value = Require(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_string()) {
    FailValue(key, "text", *value);
    return {};
  }
  return value->get<std::string>();
}

std::string ConfigReader::TextOr(std::string_view key, std::string_view absent) {
  return Has(key) ? Text(key) : std::string(absent);
}

std::optional<std::vector<std::string>> ConfigReader::TextList(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto is_text = [](const nlohmann::json& item) { return item.is_string(); };
  if (!value->is_array() || !std::ranges::all_of(*value, is_text)) {
    FailValue(key, "a list of texts", *value);
    return std::nullopt;
  }
  return value->get<std::vector<std::string>>();
}

std::optional<ConfigReader> ConfigReader::Object(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || (value->is_object() && value->empty())) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    FailValue(key, "an object", *value);
    return std::nullopt;
  }
  return ConfigReader(*value, fmt::format("{}: {}", source_, key), first_error_);
}

Result<std::string> ConfigPath(const std::string& model_dir) {
  if (!IsDirectory(model_dir)) {
    return Status::NotFound(
        fmt::format("model folder {} does not exist: name a folder that holds config.json", model_dir));
  }
  std::string path = model_dir + "/config.json";
  if (!FileExists(path)) {
    return Status::NotFound(
        fmt::format("model folder {} has no config.json: it is not a Hugging Face model", model_dir));
  }
  return path;
}

}  // namespace assay::architecture
