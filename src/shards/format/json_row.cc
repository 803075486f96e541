#include "shards/format/json_row.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "shards/format/simdjson_end.h"

namespace assay::shards {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

static_assert(JsonRowReader::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

/// A token without the blanks behind it.
std::string_view Trimmed(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

/// Integers beyond 64 bits, which simdjson refuses, and fractions beyond double, which Python reads as infinite.
error_code ReadUnusualNumber(std::string_view token, Field& field) {
  const bool is_integer = token.find_first_of(".eE") == std::string_view::npos;
  const std::string_view digits = token.substr(token.starts_with('-') ? 1 : 0);
  const bool all_digits = !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (is_integer && all_digits && digits[0] != '0') {
    field.SetText(FieldKind::kBigInteger, token);
    return simdjson::SUCCESS;
  }
  double value = 0;
  const char* end = token.data();
  if (!is_integer) {
    value = std::strtod(token.data(), const_cast<char**>(&end));
  }
  if (end != token.data() + token.size() || digits.empty() || !(digits[0] >= '0' && digits[0] <= '9')) {
    return simdjson::NUMBER_ERROR;
  }
  field.SetNumber(value);
  field.text = token;
  return simdjson::SUCCESS;
}

error_code ReadNumber(ondemand::value& value, Field& field) {
  const std::string_view token = Trimmed(value.raw_json_token());
  if (token.find_first_of(".eE") == std::string_view::npos) {
    int64_t integer = 0;
    uint64_t large = 0;
    if (value.get_int64().get(integer) == simdjson::SUCCESS) {
      field.SetInteger(integer);
      return simdjson::SUCCESS;
    }
    if (value.get_uint64().get(large) == simdjson::SUCCESS) {
      field.SetUnsigned(large);
      return simdjson::SUCCESS;
    }
    return ReadUnusualNumber(token, field);
  }
  double number = 0;
  if (value.get_double().get(number) != simdjson::SUCCESS) {
    return ReadUnusualNumber(token, field);
  }
  field.SetNumber(number);
  field.text = token;
  return simdjson::SUCCESS;
}

template <typename Nested>
error_code ReadNested(simdjson::simdjson_result<Nested> nested, Field& field) {
  Nested inner;
  std::string_view raw;
  if (const error_code error = std::move(nested).get(inner)) {
    return error;
  }
  if (const error_code error = inner.raw_json().get(raw)) {
    return error;
  }
  field.SetText(FieldKind::kJson, Trimmed(raw));
  return simdjson::SUCCESS;
}

error_code ReadValue(ondemand::value& value, Field& field) {
  ondemand::json_type type;
  if (const error_code error = value.type().get(type)) {
    return error;
  }
  switch (type) {
    case ondemand::json_type::string: {
      std::string_view text;
      const error_code error = value.get_string().get(text);
      field.SetText(FieldKind::kText, text);
      return error;
    }
    case ondemand::json_type::number:
      return ReadNumber(value, field);
    case ondemand::json_type::object:
      return ReadNested(value.get_object(), field);
    case ondemand::json_type::array:
      return ReadNested(value.get_array(), field);
    case ondemand::json_type::boolean:
    case ondemand::json_type::null:
      break;
  }
  const std::string_view token = Trimmed(value.raw_json_token());
  if (token == "true" || token == "false") {
    field.SetBool(token == "true");
  } else if (token == "null") {
    field.SetNull();
  } else {
    return simdjson::N_ATOM_ERROR;
  }
  return simdjson::SUCCESS;
}

Status NotJson(error_code error) {
  return Status::InvalidArgument(error == simdjson::INCORRECT_TYPE
                                     ? std::string("it is JSON, but no object")
                                     : fmt::format("it is no JSON: {}", simdjson::error_message(error)));
}

}  // namespace

struct JsonRowReader::State {
  ondemand::parser parser;
  ondemand::document document;
  std::string padded;
  std::vector<size_t> last_order;  // the column of each field of the row before: most rows have the same
  std::vector<bool> seen;
  std::string unknown;

  std::string_view Pad(std::string_view json) {
    padded.assign(json);
    padded.append(kPaddingBytes, '\0');
    return std::string_view(padded).substr(0, json.size());
  }

  /// Calls `take(field)` for each field of the object that `json`, which is padded, holds.
  template <typename Take>
  error_code ForEachField(std::string_view json, const Take& take) {
    if (const error_code error = parser.iterate(json.data(), json.size(), json.size() + kPaddingBytes).get(document)) {
      return error;
    }
    ondemand::object object;
    if (const error_code error = document.get_object().get(object)) {
      return error;
    }
    for (auto result : object) {
      ondemand::field field;
      if (const error_code error = std::move(result).get(field)) {
        return error;
      }
      if (const error_code error = take(field)) {
        return error;
      }
    }
    return AtEnd(document) ? simdjson::SUCCESS : simdjson::TRAILING_CONTENT;
  }

  /// The column that `field`, the `index`-th of its row, belongs to; all of them: none.
  size_t ColumnOf(ondemand::field& field, size_t index, std::span<const Column> columns) {
    if (index < last_order.size() && last_order[index] < columns.size() &&
        field.key().unsafe_is_equal(columns[last_order[index]].name)) {
      return last_order[index];
    }
    std::string_view name;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) {
      return columns.size();
    }
    const auto column =
        std::ranges::lower_bound(columns, name, {}, [](const Column& c) -> std::string_view { return c.name; });
    const bool known = column != columns.end() && column->name == name;
    last_order.resize(std::max(last_order.size(), index + 1), columns.size());
    if (!known && unknown.empty()) {
      unknown = name;
    }
    last_order[index] = known ? static_cast<size_t>(column - columns.begin()) : columns.size();
    return last_order[index];
  }
};

JsonRowReader::JsonRowReader() : state_(std::make_unique<State>()) {}
JsonRowReader::JsonRowReader(JsonRowReader&&) noexcept = default;
JsonRowReader::~JsonRowReader() = default;

Status JsonRowReader::Read(std::string_view json, std::span<const Column> columns, Row& row) {
  return ReadInPlace(state_->Pad(json), columns, row);
}

Status JsonRowReader::ReadInPlace(std::string_view json, std::span<const Column> columns, Row& row) {
  row.resize(columns.size());
  state_->seen.assign(columns.size(), false);
  state_->unknown.clear();
  size_t index = 0;
  const error_code error = state_->ForEachField(json, [&](ondemand::field& field) {
    const size_t column = state_->ColumnOf(field, index++, columns);
    if (column == columns.size()) {
      return simdjson::SUCCESS;
    }
    state_->seen[column] = true;
    return ReadValue(field.value(), row[column]);
  });
  if (error != simdjson::SUCCESS) {
    return NotJson(error);
  }
  const auto missing = std::ranges::find(state_->seen, false);
  if (missing != state_->seen.end()) {
    return Status::InvalidArgument(
        fmt::format("it has no '{}'", columns[static_cast<size_t>(missing - state_->seen.begin())].name));
  }
  return Status::Ok();
}

std::string_view JsonRowReader::unknown() const {
  return state_->unknown;
}

Status JsonRowReader::ReadAll(std::string_view json, std::vector<std::string>& names, Row& row) {
  names.clear();
  row.clear();
  const error_code error = state_->ForEachField(state_->Pad(json), [&](ondemand::field& field) {
    std::string_view name;
    if (const error_code unnamed = field.unescaped_key().get(name)) {
      return unnamed;
    }
    names.emplace_back(name);
    return ReadValue(field.value(), row.emplace_back());
  });
  return error == simdjson::SUCCESS ? Status::Ok() : NotJson(error);
}

}  // namespace assay::shards
