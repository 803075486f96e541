// Regular expressions of tokenizer.json.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace assay::data {

/// A compiled pattern in the syntax of the `tokenizers` library (Oniguruma), with the same matches on every text.
///
/// What it knows of Unicode is in the project's own tables: the pattern is rewritten over the kinds of characters that
/// it tells apart, and PCRE2's JIT sees these only. Immutable, so safe from several threads.
class Regex {
 public:
  /// An error names the pattern and what in it is wrong, or means something that PCRE2 cannot be told.
  static Result<Regex> Compile(std::string_view pattern);
  /// A pattern that matches `text` and nothing else.
  static Result<Regex> Literal(std::string_view text);

  /// Calls `on_match(begin, end)` for every match in `text`, valid UTF-8, from left to right. An empty text has none;
  /// an empty match is reported unless it is where the match before it ended. Fails when the search takes too many
  /// steps or too much memory.
  Status ForEachMatch(std::string_view text, const std::function<void(size_t, size_t)>& on_match) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace assay::data
