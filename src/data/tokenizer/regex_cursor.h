// What the readers of patterns and of bracket classes share: a place in the pattern, and escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "data/tokenizer/code_point_set.h"

namespace assay::data {

/// One or more characters that a part of a pattern stands for.
struct RegexCharacters {
  std::optional<uint32_t> code_point;  ///< when it is one, written as such
  CodePointSet set;                    ///< in any case
};

/// A place in a pattern, which is UTF-8.
class RegexCursor {
 public:
  static constexpr uint32_t kLargestNumber = 1'000'000;

  explicit RegexCursor(std::string_view pattern) : pattern_(pattern) {}

  bool AtEnd() const { return at_ == pattern_.size(); }
  bool Sees(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  /// Steps over `text` if it is next.
  bool Take(std::string_view text);
  /// The next byte, 0 at the end.
  char Peek() const { return AtEnd() ? '\0' : pattern_[at_]; }
  /// The next character. Not at the end.
  uint32_t Next();
  /// What is left.
  std::string_view rest() const { return pattern_.substr(at_); }
  /// Everything before `stop`, which is stepped over too; null when it does not come.
  std::optional<std::string_view> TakeUntil(std::string_view stop);
  /// A decimal number, a larger one as kLargestNumber; null when there is none.
  std::optional<uint32_t> TakeNumber();

  /// What the escape of one character or class means whose backslash is behind.
  Result<RegexCharacters> TakeEscape(bool in_brackets);

  /// A bracket class whose '[' is behind, without the effect of an option that ignores case. `*negated` says whether it
  /// is what the set lacks.
  Result<CodePointSet> TakeBrackets(bool* negated, int depth);

 private:
  Result<RegexCharacters> TakeLetterEscape(char letter, bool in_brackets);
  Result<RegexCharacters> TakeProperty(bool negated, bool in_brackets);
  Result<uint32_t> TakeHexadecimal();
  Result<uint32_t> TakeDigits(int base, size_t least, size_t most);
  Result<CodePointSet> TakePosixClass();
  Result<CodePointSet> TakeNested(int depth);
  Result<CodePointSet> TakeBracketItem(int depth);
  Result<RegexCharacters> TakeBracketCharacter();
  bool SeesPosixClass() const;

  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace assay::data
