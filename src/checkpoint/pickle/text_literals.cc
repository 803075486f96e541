#include "checkpoint/pickle/text_literals.h"

#include <charconv>
#include <cstdint>

#include "checkpoint/value/encodings.h"

namespace assay::checkpoint {
namespace {

struct Escape {
  char letter;
  char meaning;
};

constexpr Escape kEscapes[] = {{'\\', '\\'}, {'\'', '\''}, {'"', '"'},  {'a', '\a'}, {'b', '\b'},
                               {'f', '\f'},  {'n', '\n'},  {'r', '\r'}, {'t', '\t'}, {'v', '\v'}};

/// A number of exactly `digits` digits.
std::optional<uint32_t> Digits(std::string_view text, size_t digits, int base) {
  uint32_t number = 0;
  if (text.size() < digits) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, base);
  return error == std::errc() && end == text.data() + digits ? std::optional(number) : std::nullopt;
}

/// What follows a backslash at the begin of `rest`, which loses it.
std::optional<char> TakeEscape(std::string_view& rest) {
  if (rest.empty()) {
    return std::nullopt;
  }
  for (const Escape& escape : kEscapes) {
    if (rest.front() == escape.letter) {
      rest.remove_prefix(1);
      return escape.meaning;
    }
  }
  const bool hexadecimal = rest.front() == 'x';
  const size_t digits = hexadecimal ? 2 : 3;
  rest.remove_prefix(hexadecimal ? 1 : 0);
  const std::optional<uint32_t> number = Digits(rest, digits, hexadecimal ? 16 : 8);
  if (!number || *number > 255) {
    return std::nullopt;
  }
  rest.remove_prefix(digits);
  return static_cast<char>(*number);
}

}  // namespace

std::optional<std::string> UnquotePython(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back() || (literal.front() != '\'' && literal.front() != '"')) {
    return std::nullopt;
  }
  std::string text;
  std::string_view rest = literal.substr(1, literal.size() - 2);
  while (!rest.empty()) {
    const char next = rest.front();
    rest.remove_prefix(1);
    if (next != '\\') {
      text += next;
      continue;
    }
    const std::optional<char> meaning = TakeEscape(rest);
    if (!meaning) {
      return std::nullopt;
    }
    text += *meaning;
  }
  return text;
}

std::optional<std::string> UnescapeRawUnicode(std::string_view text) {
  std::string unescaped;
  while (!text.empty()) {
    const bool is_long = text.starts_with("\\U");
    if (is_long || text.starts_with("\\u")) {
      const size_t digits = is_long ? 8 : 4;
      const std::optional<uint32_t> code = Digits(text.substr(2), digits, 16);
      if (!code || !AppendUtf8(*code, unescaped)) {
        return std::nullopt;
      }
      text.remove_prefix(2 + digits);
      continue;
    }
    (void)AppendUtf8(static_cast<unsigned char>(text.front()), unescaped);
    text.remove_prefix(1);
  }
  return unescaped;
}

}  // namespace assay::checkpoint
