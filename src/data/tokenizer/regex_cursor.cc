#include "data/tokenizer/regex_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "data/tokenizer/regex_unicode.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

constexpr int kMaxNestedClasses = 50;

struct ControlEscape {
  char letter;
  uint32_t code_point;
};

constexpr ControlEscape kControlEscapes[] = {{'t', '\t'}, {'n', '\n'}, {'v', '\v'}, {'f', '\f'},
                                             {'r', '\r'}, {'a', '\a'}, {'e', 0x1B}};

RegexCharacters Single(uint32_t code_point) {
  return {code_point, CodePointSet(code_point)};
}

bool IsAsciiAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsPropertyName(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAsciiAlphanumeric(c) || c == ' ' || c == '_' || c == '-'; });
}

bool IsSurrogate(uint32_t code_point) {
  return code_point >= 0xD800 && code_point <= 0xDFFF;
}

}  // namespace

bool RegexCursor::Take(std::string_view text) {
  if (!Sees(text)) {
    return false;
  }
  at_ += text.size();
  return true;
}

uint32_t RegexCursor::Next() {
  const CodePoint c = DecodeUtf8(pattern_.data() + at_);
  at_ += c.bytes;
  return c.value;
}

std::optional<std::string_view> RegexCursor::TakeUntil(std::string_view stop) {
  const size_t end = pattern_.find(stop, at_);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view taken = pattern_.substr(at_, end - at_);
  at_ = end + stop.size();
  return taken;
}

std::optional<uint32_t> RegexCursor::TakeNumber() {
  const std::string_view digits = rest().substr(0, rest().find_first_not_of("0123456789"));
  if (digits.empty()) {
    return std::nullopt;
  }
  at_ += digits.size();
  uint32_t number = kLargestNumber;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return std::min(number, kLargestNumber);
}

Result<uint32_t> RegexCursor::TakeDigits(int base, size_t least, size_t most) {
  const std::string_view digits = rest().substr(0, most);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  const auto count = static_cast<size_t>(end - digits.data());
  if (error != std::errc() || count < least) {
    return Status::InvalidArgument("an escape lacks its digits");
  }
  at_ += count;
  if (value >= kCodePointCount || IsSurrogate(value)) {
    return Status::InvalidArgument("an escape stands for no character");
  }
  return value;
}

// \xHH or \x{H...}, whose 'x' is behind.
Result<uint32_t> RegexCursor::TakeHexadecimal() {
  if (!Take("{")) {
    ASSAY_ASSIGN_OR_RETURN(const uint32_t byte, TakeDigits(16, 1, 2));
    return byte < 0x80 ? Result<uint32_t>(byte) : Status::Unsupported(fmt::format("the byte \\x{:x}", byte));
  }
  ASSAY_ASSIGN_OR_RETURN(const uint32_t code_point, TakeDigits(16, 1, 8));
  if (!Take("}")) {
    return Status::Unsupported("more than one code point in \\x{}");
  }
  return code_point;
}

// \p{name}, whose '{' is behind.
Result<RegexCharacters> RegexCursor::TakeProperty(bool negated, bool in_brackets) {
  const bool inverted = Take("^");
  const std::optional<std::string_view> name = TakeUntil("}");
  if (!name) {
    return Status::InvalidArgument("a property name has no end");
  }
  const auto place = in_brackets ? PropertyPlace::kBrackets : PropertyPlace::kPattern;
  const std::optional<CodePointSet> found = IsPropertyName(*name) ? FindProperty(*name, place) : std::nullopt;
  if (!found) {
    return Status::Unsupported(fmt::format("the property '{}'", *name));
  }
  return RegexCharacters{std::nullopt, negated != inverted ? ~*found : *found};
}

Result<RegexCharacters> RegexCursor::TakeLetterEscape(char letter, bool in_brackets) {
  for (const ControlEscape& escape : kControlEscapes) {
    if (escape.letter == letter) {
      return Single(escape.code_point);
    }
  }
  if (std::string_view("wsdhWSDH").find(letter) != std::string_view::npos) {
    const bool negated = letter < 'a';
    const auto place = in_brackets ? PropertyPlace::kBrackets : PropertyPlace::kPattern;
    const CodePointSet set = FindProperty(std::string{'\\', static_cast<char>(letter | 0x20)}, place).value();
    return RegexCharacters{std::nullopt, negated ? ~set : set};
  }
  if ((letter == 'p' || letter == 'P') && Take("{")) {
    return TakeProperty(letter == 'P', in_brackets);
  }
  if (letter == 'u') {
    ASSAY_ASSIGN_OR_RETURN(const uint32_t code_point, TakeDigits(16, 4, 4));
    return Single(code_point);
  }
  if (letter == 'x') {
    ASSAY_ASSIGN_OR_RETURN(const uint32_t code_point, TakeHexadecimal());
    return Single(code_point);
  }
  if (letter == 'b' && in_brackets) {
    return Single('\b');
  }
  if (letter >= '1' && letter <= '9' && !in_brackets) {
    return Status::Unsupported("back references");
  }
  return Status::Unsupported(fmt::format("the escape \\{}", letter));
}

Result<RegexCharacters> RegexCursor::TakeEscape(bool in_brackets) {
  if (AtEnd()) {
    return Status::InvalidArgument("it ends with a backslash");
  }
  const char letter = Peek();
  const uint32_t code_point = Next();
  return IsAsciiAlphanumeric(letter) ? TakeLetterEscape(letter, in_brackets) : Single(code_point);
}

// Whether "[:" begins the name of a class rather than a nested one.
bool RegexCursor::SeesPosixClass() const {
  const size_t end = rest().find(']');
  return Sees(":") && end != std::string_view::npos && end > 1 && rest()[end - 1] == ':';
}

// [:name:] whose "[:" is behind.
Result<CodePointSet> RegexCursor::TakePosixClass() {
  const bool negated = Take("^");
  const std::string_view name = TakeUntil(":]").value_or("");
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const std::optional<CodePointSet> found = plain ? FindProperty(name, PropertyPlace::kPosixName) : std::nullopt;
  if (!found) {
    return Status::Unsupported(fmt::format("the class [:{}:]", name));
  }
  return negated ? ~*found : *found;
}

Result<CodePointSet> RegexCursor::TakeNested(int depth) {
  if (Sees(":") && SeesPosixClass()) {
    Take(":");
    return TakePosixClass();
  }
  bool negated = false;
  ASSAY_ASSIGN_OR_RETURN(const CodePointSet set, TakeBrackets(&negated, depth + 1));
  return negated ? ~set : set;
}

Result<RegexCharacters> RegexCursor::TakeBracketCharacter() {
  if (Take("\\")) {
    return TakeEscape(true);
  }
  return Single(Next());
}

// A class, a character or a range within brackets.
Result<CodePointSet> RegexCursor::TakeBracketItem(int depth) {
  const bool nested = Take("[");
  RegexCharacters begin;
  if (nested) {
    ASSAY_ASSIGN_OR_RETURN(begin.set, TakeNested(depth));
  } else {
    ASSAY_ASSIGN_OR_RETURN(begin, TakeBracketCharacter());
  }
  if (!Sees("-") || Sees("-]")) {
    return begin.set;
  }
  if (nested || Sees("-[") || Sees("-&&")) {
    return Status::Unsupported("'-' beside a class within brackets");
  }
  if (!begin.code_point) {
    return Status::InvalidArgument("a range within brackets begins with a class");
  }
  Take("-");
  if (AtEnd()) {
    return Status::InvalidArgument("a bracket class has no end");
  }
  ASSAY_ASSIGN_OR_RETURN(const RegexCharacters end, TakeBracketCharacter());
  if (!end.code_point || *end.code_point < *begin.code_point) {
    return Status::InvalidArgument("a range within brackets has no end that comes after its beginning");
  }
  // What follows a range is a character, '-' too.
  CodePointSet set(std::vector<CodePointSet::Range>{{*begin.code_point, *end.code_point}});
  return Take("-") ? set | CodePointSet('-') : set;
}

Result<CodePointSet> RegexCursor::TakeBrackets(bool* negated, int depth) {
  if (depth > kMaxNestedClasses) {
    return Status::Unsupported("classes nested that deeply");
  }
  *negated = Take("^");
  if (Sees("]") && rest().find(']', 1) == std::string_view::npos) {
    return Status::InvalidArgument("a bracket class is empty");
  }
  std::vector<CodePointSet::Range> members;
  std::optional<CodePointSet> intersection;
  // A ']' that is first stands for itself.
  for (bool first = true; first || !Sees("]"); first = false) {
    if (AtEnd()) {
      return Status::InvalidArgument("a bracket class has no end");
    }
    if (Take("&&")) {
      const CodePointSet part(std::move(members));
      intersection = intersection ? *intersection & part : part;
      members.clear();
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const CodePointSet item, TakeBracketItem(depth));
    members.insert(members.end(), item.ranges().begin(), item.ranges().end());
  }
  Take("]");
  const CodePointSet part(std::move(members));
  return intersection ? *intersection & part : part;
}

}  // namespace assay::data
