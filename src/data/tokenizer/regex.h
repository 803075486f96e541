// Regular expressions of tokenizer.json, run by PCRE2's JIT.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::data {

/// A compiled pattern in the syntax the `tokenizers` library uses (Oniguruma, Ruby flavour). What the two engines write
/// differently is translated: `\s`, `\w`, `\h`, and line anchors that match at every line. Letters and numbers younger
/// than Unicode 14 follow PCRE2's tables. Immutable, so safe from several threads.
class Regex {
 public:
  /// An error names the pattern and where it fails; constructs that mean something else in PCRE2 are refused.
  static Result<Regex> Compile(std::string_view pattern);
  /// A pattern that matches `text` and nothing else.
  static Result<Regex> Literal(std::string_view text);

  /// Calls `on_match(begin, end)` for every match in `text`, valid UTF-8, from left to right. An empty match is
  /// reported unless it is where the match before it ended. Stops early when PCRE2 reaches its match limit.
  void ForEachMatch(std::string_view text, const std::function<void(size_t, size_t)>& on_match) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace assay::data
