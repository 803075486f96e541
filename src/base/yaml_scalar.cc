#include "base/yaml_scalar.h"

#include <charconv>
#include <limits>
#include <string_view>

namespace assay {
namespace {

std::string_view WithoutSign(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  return text;
}

size_t CountDigits(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789");
  return end == std::string_view::npos ? text.size() : end;
}

// [-+]? ( \.[0-9]+ | [0-9]+ (\.[0-9]*)? ) ( [eE] [-+]? [0-9]+ )?
bool LooksLikeDecimal(std::string_view text) {
  text = WithoutSign(text);
  size_t digits = CountDigits(text);
  text.remove_prefix(digits);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const size_t fraction = CountDigits(text);
    text.remove_prefix(fraction);
    digits += fraction;
  }
  if (digits == 0) {
    return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text = WithoutSign(text.substr(1));
    return !text.empty() && CountDigits(text) == text.size();
  }
  return text.empty();
}

std::optional<int64_t> ParseInteger(std::string_view digits, int base) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

bool IsYamlNull(const std::string& text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL" || text == "None";
}

std::optional<bool> YamlBool(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  return std::nullopt;
}

std::optional<int64_t> YamlInteger(const std::string& text) {
  if (text.starts_with("0x")) {
    return text[2] == '-' ? std::nullopt : ParseInteger(std::string_view(text).substr(2), 16);
  }
  if (text.starts_with("0o")) {
    return text[2] == '-' ? std::nullopt : ParseInteger(std::string_view(text).substr(2), 8);
  }
  const std::string_view digits = WithoutSign(text);
  if (digits.empty() || CountDigits(digits) != digits.size()) {
    return std::nullopt;
  }
  return ParseInteger(text[0] == '+' ? digits : std::string_view(text), 10);
}

std::optional<double> YamlNumber(const std::string& text) {
  if (const auto integer = YamlInteger(text)) {
    return static_cast<double>(*integer);
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (const auto name = WithoutSign(text); name == ".inf" || name == ".Inf" || name == ".INF") {
    return text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (!LooksLikeDecimal(text)) {
    return std::nullopt;
  }
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace assay
