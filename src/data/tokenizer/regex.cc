#include "data/tokenizer/regex.h"

#include <fmt/format.h>

#include <utility>

#include "data/tokenizer/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace assay::data {
namespace {

// Members of \s in Oniguruma; PCRE2's has U+180E as well.
constexpr std::string_view kSpaces =
    R"(\t-\r\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// Members of \w in Oniguruma: Alphabetic, marks, decimal digits and connectors; PCRE2's has letters and numbers.
constexpr std::string_view kWordCharacters =
    R"(\p{L}\p{M}\d\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

struct ShorthandClass {
  char letter;
  std::string_view members;
};

constexpr ShorthandClass kShorthands[] = {{'s', kSpaces}, {'w', kWordCharacters}, {'h', "0-9a-fA-F"}};

// Rewrites an Oniguruma pattern for PCRE2, one character or escape at a time.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\' && at_ + 1 < pattern_.size()) {
        Escape(pattern_[at_ + 1]);
        continue;
      }
      ASSAY_RETURN_IF_ERROR(in_class_ ? InsideClass(c) : Outside(c));
      out_ += c;
      ++at_;
    }
    return out_;
  }

 private:
  void Escape(char c) {
    at_ += 2;
    class_start_ = false;
    for (const ShorthandClass& shorthand : kShorthands) {
      if (c == shorthand.letter) {
        out_ += in_class_ ? std::string(shorthand.members) : fmt::format("[{}]", shorthand.members);
        return;
      }
      if (c == shorthand.letter - 'a' + 'A' && !in_class_) {
        out_ += fmt::format("[^{}]", shorthand.members);
        return;
      }
    }
    out_ += {'\\', c};
  }

  Status InsideClass(char c) {
    if (c == '&' && Follows("&&")) {
      return Status::Unsupported("character class intersections ('&&')");
    }
    if (c == '[') {
      return Status::Unsupported("nested character classes");
    }
    if (c == ']' && !class_start_) {
      in_class_ = false;
    }
    class_start_ = class_start_ && c == '^';
    return Status::Ok();
  }

  Status Outside(char c) {
    if (c == '[') {
      in_class_ = class_start_ = true;
    }
    if (Follows("(?m") || Follows("(?im")) {
      return Status::Unsupported("the inline option 'm'");
    }
    if (Follows("{,")) {
      return Status::Unsupported("a repetition without a lower bound");
    }
    return Status::Ok();
  }

  bool Follows(std::string_view text) const { return pattern_.substr(at_, text.size()) == text; }

  std::string_view pattern_;
  size_t at_ = 0;
  bool in_class_ = false;
  bool class_start_ = false;  // nothing but '^' has been seen in the class
  std::string out_;
};

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* c) : code(c) {}
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  pcre2_code* code;
};

Result<Regex> Regex::Compile(std::string_view pattern) {
  Result<std::string> translated = Translator(pattern).Run();
  if (!translated.ok()) {
    return Status::Unsupported(
        fmt::format("regular expression '{}' uses {}, which is not supported", pattern, translated.status().message()));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(), options,
                                   &error, &offset, nullptr);
  if (code == nullptr) {
    char message[128];
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
    return Status::InvalidArgument(fmt::format("regular expression '{}' does not compile: {}", pattern, message));
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without a JIT, pcre2_match interprets the same code
  return Regex(std::make_shared<const Code>(code));
}

Result<Regex> Regex::Literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '\n') {
      pattern += "\\n";
      continue;
    }
    if (std::string_view(R"(\.+*?()|[]{}^$#&-~/)").find(c) != std::string_view::npos) {
      pattern += '\\';
    }
    pattern += c;
  }
  return Compile(pattern);
}

void Regex::ForEachMatch(std::string_view text, const std::function<void(size_t, size_t)>& on_match) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code_->code, nullptr), &pcre2_match_data_free);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
  size_t at = 0;
  size_t last_end = std::string_view::npos;
  while (at <= text.size()) {
    if (pcre2_match(code_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr) < 0) {
      return;
    }
    if (bounds[0] == bounds[1] && bounds[1] == last_end) {
      at += at < text.size() ? Utf8Length(text[at]) : 1;
      continue;
    }
    at = last_end = bounds[1];
    on_match(bounds[0], bounds[1]);
  }
}

}  // namespace assay::data
