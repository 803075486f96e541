// AppendPythonJson(): JSON rewritten as Python would write what it reads.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/text.h"
#include "shards/format/python_text.h"
#include "shards/format/simdjson_end.h"

namespace assay::shards {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr int kDeepest = 500;

class Rewriter {
 public:
  explicit Rewriter(std::string& out) : out_(out) {}

  simdjson::error_code Value(ondemand::value value, int depth) {
    if (depth > kDeepest) {
      return simdjson::DEPTH_ERROR;
    }
    ondemand::json_type type;
    if (const auto error = value.type().get(type)) {
      return error;
    }
    switch (type) {
      case ondemand::json_type::object:
        return Object(value, depth);
      case ondemand::json_type::array:
        return Array(value, depth);
      case ondemand::json_type::string:
        return String(value);
      case ondemand::json_type::number: {
        // The token is checked by what reads it, and what it is followed by may be blanks.
        std::string_view token = value.raw_json_token();
        token = token.substr(0, std::min(token.find_first_of(" \t\n\r"), token.size()));
        return Number(token);
      }
      case ondemand::json_type::boolean: {
        bool flag = false;
        const auto error = value.get_bool().get(flag);
        out_ += flag ? "true" : "false";
        return error;
      }
      case ondemand::json_type::null:
        out_ += "null";
        return value.is_null() ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
    }
    return simdjson::TAPE_ERROR;
  }

  /// A document that is no object and no list, which simdjson reads by other functions.
  simdjson::error_code Scalar(ondemand::document& document, ondemand::json_type type, std::string_view json) {
    if (type == ondemand::json_type::string) {
      std::string_view text;
      const auto error = document.get_string().get(text);
      AppendPythonString(out_, text);
      return error != simdjson::SUCCESS || AtEnd(document) ? error : simdjson::TRAILING_CONTENT;
    }
    const std::string_view token = Trim(json);
    if (type == ondemand::json_type::number) {
      return Number(token);
    }
    out_ += token;
    return token == "true" || token == "false" || token == "null" ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
  }

  simdjson::error_code Number(std::string_view token) {
    if (!IsJsonNumber(token)) {
      return simdjson::NUMBER_ERROR;
    }
    if (token.find_first_of(".eE") == std::string_view::npos) {
      out_ += token == "-0" ? "0" : token;
      return simdjson::SUCCESS;
    }
    const double value = std::strtod(std::string(token).c_str(), nullptr);
    if (std::isinf(value)) {
      out_ += value > 0 ? "Infinity" : "-Infinity";  // what Python reads it as, and writes
    } else {
      AppendPythonFloat(out_, value);
    }
    return simdjson::SUCCESS;
  }

 private:
  static bool IsJsonNumber(std::string_view token) {
    size_t at = token.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
      const size_t begin = at;
      while (at < token.size() && token[at] >= '0' && token[at] <= '9') {
        ++at;
      }
      return at - begin;
    };
    const size_t first = at;
    const size_t whole = digits();
    if (whole == 0 || (whole > 1 && token[first] == '0')) {
      return false;
    }
    if (at < token.size() && token[at] == '.') {
      ++at;
      if (digits() == 0) {
        return false;
      }
    }
    if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
      ++at;
      at += at < token.size() && (token[at] == '+' || token[at] == '-') ? 1 : 0;
      if (digits() == 0) {
        return false;
      }
    }
    return at == token.size();
  }

  simdjson::error_code String(ondemand::value& value) {
    std::string_view text;
    const auto error = value.get_string().get(text);
    AppendPythonString(out_, text);
    return error;
  }

  simdjson::error_code Array(ondemand::value& value, int depth) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) {
      return error;
    }
    out_ += '[';
    const char* separator = "";
    for (auto item : array) {
      ondemand::value inner;
      if (const auto error = item.get(inner)) {
        return error;
      }
      out_ += separator;
      separator = ", ";
      if (const auto error = Value(inner, depth + 1)) {
        return error;
      }
    }
    out_ += ']';
    return simdjson::SUCCESS;
  }

  simdjson::error_code Object(ondemand::value& value, int depth) {
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) {
      return error;
    }
    std::vector<std::pair<std::string, std::string>> members;
    for (auto field : object) {
      std::string_view key;
      ondemand::value inner;
      if (const auto error = field.unescaped_key().get(key)) {
        return error;
      }
      std::string name(key);
      if (const auto error = field.value().get(inner)) {
        return error;
      }
      std::string text;
      if (const auto error = Rewriter(text).Value(inner, depth + 1)) {
        return error;
      }
      const auto same = std::ranges::find(members, name, &std::pair<std::string, std::string>::first);
      if (same == members.end()) {
        members.emplace_back(std::move(name), std::move(text));
      } else {
        same->second = std::move(text);
      }
    }
    out_ += '{';
    const char* separator = "";
    for (const auto& [name, text] : members) {
      out_ += separator;
      separator = ", ";
      AppendPythonString(out_, name);
      out_ += ": ";
      out_ += text;
    }
    out_ += '}';
    return simdjson::SUCCESS;
  }

  std::string& out_;
};

simdjson::error_code Rewrite(std::string& out, std::string_view json) {
  thread_local ondemand::parser parser;
  const simdjson::padded_string padded(json);
  ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document)) {
    return error;
  }
  ondemand::json_type type;
  if (const auto error = document.type().get(type)) {
    return error;
  }
  Rewriter rewriter(out);
  if (type == ondemand::json_type::object || type == ondemand::json_type::array) {
    ondemand::value value;
    if (const auto error = document.get_value().get(value)) {
      return error;
    }
    if (const auto error = rewriter.Value(value, 0)) {
      return error;
    }
    return AtEnd(document) ? simdjson::SUCCESS : simdjson::TRAILING_CONTENT;
  }
  return rewriter.Scalar(document, type, json);
}

}  // namespace

Status AppendPythonJson(std::string& out, std::string_view json) {
  const size_t begin = out.size();
  if (const auto error = Rewrite(out, json)) {
    out.resize(begin);
    return Status::InvalidArgument(fmt::format("no JSON that can be read: {}", simdjson::error_message(error)));
  }
  return Status::Ok();
}

}  // namespace assay::shards
