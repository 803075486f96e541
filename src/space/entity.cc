#include "space/entity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "space/number.h"

namespace assay::space {
namespace {

bool EqualIgnoringCase(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

template <typename T>
std::optional<T> WholeNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string NumberText(double value) {
  if (!std::isfinite(value) || std::abs(value) >= 1e15) {
    return fmt::format("{}", value);
  }
  std::string text = fmt::format("{:.10f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

struct TextOf {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return NumberText(value); }
  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

std::string ToString(const Value& value) {
  return std::visit(TextOf{}, value);
}

Value ValueFromText(std::string_view text) {
  if (EqualIgnoringCase(text, "none")) {
    return std::monostate();
  }
  if (EqualIgnoringCase(text, "true") || EqualIgnoringCase(text, "false")) {
    return EqualIgnoringCase(text, "true");
  }
  if (const auto integer = WholeNumber<int64_t>(text)) {
    return *integer;
  }
  if (const auto number = WholeNumber<double>(text); number && std::isfinite(*number)) {
    return *number;
  }
  return std::string(text);
}

nlohmann::json ToJson(const Value& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nlohmann::json(nullptr);
        } else {
          return nlohmann::json(held);
        }
      },
      value);
}

Result<Value> ValueFromJson(const nlohmann::json& json) {
  switch (json.type()) {
    case nlohmann::json::value_t::null:
      return Value(std::monostate());
    case nlohmann::json::value_t::boolean:
      return Value(json.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return Value(json.get<int64_t>());
    case nlohmann::json::value_t::number_unsigned:
      if (json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
        return Value(json.get<double>());
      }
      return Value(json.get<int64_t>());
    case nlohmann::json::value_t::number_float:
      return Value(json.get<double>());
    case nlohmann::json::value_t::string:
      return Value(json.get<std::string>());
    default:
      return Status::InvalidArgument(
          fmt::format("expected a text, a number, true, false or null, not {}", json.dump()));
  }
}

std::string EntityId(const Entity& entity) {
  std::string id;
  for (const auto& [name, value] : entity) {
    id += fmt::format("{}{}.{}", id.empty() ? "" : "-", name, ToString(value));
  }
  return id;
}

}  // namespace assay::space
