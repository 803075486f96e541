// Hand-made scanners for the pre-tokeniser patterns that most models use; a regular expression costs ten times as much.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace assay::data {

/// Cuts text into words exactly as one fixed regular expression does. Every byte of the text is in one word.
/// Immutable, so safe from several threads.
class Splitter {
 public:
  virtual ~Splitter() = default;

  /// Fills `ends` with the byte offsets at which the next words of `text`, valid UTF-8, end, from offset `begin` on.
  /// Returns how many: fewer than `ends.size()` only when the text is used up.
  virtual size_t Next(std::string_view text, size_t begin, std::span<size_t> ends) const = 0;
};

/// The pattern of GPT-2, which the ByteLevel pre-tokeniser applies by itself.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A scanner for `pattern`, compared as text (GPT-2, Llama 3 and cl100k, Qwen 2, o200k, Tekken); null for any other.
std::unique_ptr<const Splitter> MakeSplitter(std::string_view pattern);

/// GPT-2's pattern applied between digits, each digit being a word of its own (SmolLM2, Granite, StarCoder: the
/// Digits pre-tokeniser followed by ByteLevel).
std::unique_ptr<const Splitter> MakeGpt2DigitsSplitter();

/// Words start at every `separator` that does not follow another one.
std::unique_ptr<const Splitter> MakeSeparatorSplitter(std::string separator);

}  // namespace assay::data
