#include "shards/format/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::shards {
namespace {

/// Digits with a point behind the first `before` of them, zeros where there are none.
void AppendFixed(std::string& out, std::string_view digits, int before) {
  const auto size = static_cast<int>(digits.size());
  if (before <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-before), '0');
    out += digits;
    return;
  }
  out += digits.substr(0, static_cast<size_t>(std::min(before, size)));
  out.append(static_cast<size_t>(std::max(before - size, 0)), '0');
  if (before < size) {
    out += '.';
    out += digits.substr(static_cast<size_t>(before));
  }
}

}  // namespace

void AppendPythonFloat(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return;
  }
  std::array<char, 32> buffer;
  const char* end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t mark = text.find('e');
  int exponent = 0;  // with its sign, of which from_chars() takes no plus
  std::from_chars(text.data() + mark + (text[mark + 1] == '+' ? 2 : 1), end, exponent);
  std::string digits(text.substr(0, mark));
  if (digits[0] == '-') {
    out += '-';
    digits.erase(0, 1);
  }
  std::erase(digits, '.');
  if (exponent >= -4 && exponent < 16) {
    AppendFixed(out, digits, exponent + 1);
    if (static_cast<int>(digits.size()) <= exponent + 1) {
      out += ".0";
    }
    return;
  }
  AppendFixed(out, digits, 1);
  fmt::format_to(std::back_inserter(out), "e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
}

namespace {

/// Appends the next character of UTF-8 `text` from `at` on as one or two \uXXXX; invalid bytes as they count.
size_t AppendEscaped(std::string& out, std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const unsigned lead = byte(at);
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  uint32_t code = size == 1 ? lead : lead & (0xff >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    code = (code << 6) | (byte(at + i) & 0x3f);
  }
  auto to = std::back_inserter(out);
  if (code >= 0x10000) {
    fmt::format_to(to, "\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
  } else {
    fmt::format_to(to, "\\u{:04x}", code);
  }
  return size;
}

std::string_view ShortEscape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      return {};
  }
}

}  // namespace

void AppendPythonString(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (const std::string_view escape = ShortEscape(c); !escape.empty()) {
      out += escape;
      ++i;
    } else if (static_cast<signed char>(c) >= 0x20) {
      out += c;
      ++i;
    } else {
      i += AppendEscaped(out, text, i);
    }
  }
  out += '"';
}

namespace {

void Dump(std::string& out, const nlohmann::json& json) {
  const char* separator = "";
  if (json.is_object()) {
    out += '{';
    for (const auto& [key, value] : json.items()) {
      out += separator;
      AppendPythonString(out, key);
      out += ": ";
      Dump(out, value);
      separator = ", ";
    }
    out += '}';
  } else if (json.is_array()) {
    out += '[';
    for (const nlohmann::json& value : json) {
      out += separator;
      Dump(out, value);
      separator = ", ";
    }
    out += ']';
  } else if (json.is_string()) {
    AppendPythonString(out, json.get_ref<const std::string&>());
  } else if (json.is_number_float()) {
    AppendPythonFloat(out, json.get<double>());
  } else {
    out += json.dump();
  }
}

}  // namespace

std::string PythonDumps(const nlohmann::json& json) {
  std::string out;
  Dump(out, json);
  return out;
}

Status AppendPythonDecimal(std::string& out, std::string_view text) {
  const auto refuse = [&] { return Status::InvalidArgument(fmt::format("'{}' is no decimal number", text)); };
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  std::string digits(text.substr(0, mark));
  const bool negative = digits.starts_with('-');
  digits.erase(0, negative || digits.starts_with('+') ? 1 : 0);
  int64_t exponent = 0;
  if (mark < text.size()) {
    const char* begin = text.data() + mark + 1 + (text.substr(mark + 1).starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), exponent);
    if (error != std::errc() || end != text.data() + text.size() || std::abs(exponent) > 1'000'000) {
      return refuse();
    }
  }
  const size_t point = digits.find('.');
  if (point != std::string::npos) {
    digits.erase(point, 1);
    exponent -= static_cast<int64_t>(digits.size() - point);
  }
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return refuse();
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  // The specification's to-scientific-string (General Decimal Arithmetic, version 1.70).
  const int64_t before = exponent + static_cast<int64_t>(digits.size());
  out += negative ? "-" : "";
  if (exponent <= 0 && before > -6) {
    AppendFixed(out, digits, static_cast<int>(before));
    return Status::Ok();
  }
  AppendFixed(out, digits, 1);
  if (before != 1) {
    fmt::format_to(std::back_inserter(out), "E{:+}", before - 1);
  }
  return Status::Ok();
}

}  // namespace assay::shards
