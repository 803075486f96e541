#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/json_depth.h"
#include "base/terminal.h"

namespace assay {
namespace {

using nlohmann::json;

// "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while ..." to its last part.
std::string ParserReason(std::string_view what) {
  const size_t column = what.find("column ");
  const size_t colon = what.find(": ", column == std::string_view::npos ? 0 : column);
  return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
}

std::string Describe(const json& value) {
  if (value.is_string()) {
    return fmt::format("the text \"{}\"", Escaped(value.get<std::string>()));
  }
  if (value.is_object()) {
    return "an object";
  }
  if (value.is_array()) {
    return "a list";
  }
  return DumpJson(value);
}

std::optional<int64_t> ToInteger(const json& value) {
  if (!value.is_number_integer()) {
    return std::nullopt;
  }
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return std::nullopt;
  }
  return value.get<int64_t>();
}

bool Convert(const json& value, bool& target) {
  target = value.is_boolean() ? value.get<bool>() : target;
  return value.is_boolean();
}

bool Convert(const json& value, int64_t& target) {
  const std::optional<int64_t> integer = ToInteger(value);
  target = integer.value_or(target);
  return integer.has_value();
}

bool Convert(const json& value, uint64_t& target) {
  const bool fits = value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  target = fits ? value.get<uint64_t>() : target;
  return fits;
}

bool Convert(const json& value, double& target) {
  target = value.is_number() ? value.get<double>() : target;
  return value.is_number();
}

bool Convert(const json& value, std::string& target) {
  if (value.is_string()) {
    target = value.get<std::string>();
  }
  return value.is_string();
}

template <typename Element>
bool Convert(const json& value, std::vector<Element>& target) {
  if (!value.is_array()) {
    return false;
  }
  std::vector<Element> elements(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    if (!Convert(value[i], elements[i])) {
      return false;
    }
  }
  target = std::move(elements);
  return true;
}

const char* Expected(const bool&) {
  return "true or false";
}
const char* Expected(const int64_t&) {
  return "an integer";
}
const char* Expected(const uint64_t&) {
  return "an integer of at least 0";
}
const char* Expected(const double&) {
  return "a number";
}
const char* Expected(const std::string&) {
  return "a text";
}
const char* Expected(const std::vector<std::string>&) {
  return "a list of texts";
}
const char* Expected(const std::vector<int64_t>&) {
  return "a list of integers";
}
const char* Expected(const std::vector<double>&) {
  return "a list of numbers";
}

}  // namespace

Result<json> ParseJson(std::string_view text, std::string_view source) {
  if (IsNestedTooDeep(text)) {
    return Status::InvalidArgument(
        fmt::format("{}: lists and objects are nested more than {} deep", source, kMostJsonDepth));
  }
  try {
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    const size_t end = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(end), '\n');
    return Status::InvalidArgument(fmt::format("{}:{}: not valid JSON: {}", source, line, ParserReason(error.what())));
  } catch (const json::exception& error) {
    return Status::InvalidArgument(fmt::format("{}: not valid JSON: {}", source, ParserReason(error.what())));
  }
}

Result<json> ReadJsonFile(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text.ok()) {
    return text.status();
  }
  return ParseJson(*text, path);
}

std::string DumpJson(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string DumpJsonPretty(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Status CheckKeys(const json& object, const std::vector<std::string>& known, std::string_view source) {
  if (!object.is_object()) {
    return Status::InvalidArgument(fmt::format("{}: expected an object, not {}", source, Describe(object)));
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string nearest = NearestName(key, known);
      const std::string hint = nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
      return Status::InvalidArgument(fmt::format("{}: unknown key '{}'{}", source, key, hint));
    }
  }
  return Status::Ok();
}

template <typename T>
Status ReadField(const json& object, std::string_view key, T& target) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || found->is_null()) {
    return Status::Ok();
  }
  if (!Convert(*found, target)) {
    return Status::InvalidArgument(fmt::format("'{}' must be {}, not {}", key, Expected(target), Describe(*found)));
  }
  return Status::Ok();
}

template Status ReadField(const json&, std::string_view, bool&);
template Status ReadField(const json&, std::string_view, int64_t&);
template Status ReadField(const json&, std::string_view, uint64_t&);
template Status ReadField(const json&, std::string_view, double&);
template Status ReadField(const json&, std::string_view, std::string&);
template Status ReadField(const json&, std::string_view, std::vector<std::string>&);
template Status ReadField(const json&, std::string_view, std::vector<int64_t>&);
template Status ReadField(const json&, std::string_view, std::vector<double>&);

}  // namespace assay
