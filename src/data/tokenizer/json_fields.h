// Reading the parts of tokenizer.json.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "data/tokenizer/unicode.h"
#include "data/tokenizer/vocabulary.h"

namespace assay::data {

/// The value of `key`; an error when it is missing, null or of another type.
template <typename T>
Result<T> RequiredField(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return Status::InvalidArgument(fmt::format("'{}' is missing", key));
  }
  T value{};
  ASSAY_RETURN_IF_ERROR(ReadField(object, key, value));
  return value;
}

/// The value of `key`, or `fallback` when it is missing or null.
template <typename T>
Result<T> OptionalField(const nlohmann::json& object, std::string_view key, T fallback) {
  ASSAY_RETURN_IF_ERROR(ReadField(object, key, fallback));
  return fallback;
}

/// The value of `key`, one character.
inline Result<std::string> CharacterField(const nlohmann::json& object, std::string_view key) {
  ASSAY_ASSIGN_OR_RETURN(std::string text, RequiredField<std::string>(object, key));
  if (text.empty() || Utf8Length(text[0]) != text.size()) {
    return Status::InvalidArgument(fmt::format("'{}' must be one character, not '{}'", key, text));
  }
  return text;
}

/// A token's id; null when `value` is none.
inline std::optional<int32_t> ReadTokenId(const nlohmann::json& value) {
  const bool integer = value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() >> 63 != 0);
  const int64_t id = integer ? value.get<int64_t>() : -1;
  return id >= 0 && id <= kLargestTokenId ? std::optional<int32_t>(static_cast<int32_t>(id)) : std::nullopt;
}

/// The list `key` of an object.
inline Result<const nlohmann::json*> ListField(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) {
    return Status::InvalidArgument(fmt::format("'{}' must be a list", key));
  }
  return &*found;
}

/// "type" of a component.
inline Result<std::string> TypeOf(const nlohmann::json& component) {
  if (!component.is_object()) {
    return Status::InvalidArgument("a component must be an object");
  }
  return RequiredField<std::string>(component, "type");
}

/// A row of a table of the components that are known by name.
template <typename T>
struct ComponentReader {
  std::string_view type;
  Result<T> (*read)(const nlohmann::json&);
};

/// Reads `component` by the row of `table` that has its type; errors name `kind` and the type.
template <typename T, size_t kRows>
Result<T> ReadComponent(const nlohmann::json& component, std::string_view kind,
                        const ComponentReader<T> (&table)[kRows]) {
  Result<std::string> type = TypeOf(component);
  if (!type.ok()) {
    return type.status().WithContext(kind);
  }
  for (const ComponentReader<T>& row : table) {
    if (row.type == *type) {
      Result<T> read = row.read(component);
      return read.ok() ? std::move(read) : Result<T>(read.status().WithContext(fmt::format("{} {}", kind, *type)));
    }
  }
  return Status::Unsupported(fmt::format("{} '{}' is not supported", kind, *type));
}

}  // namespace assay::data
