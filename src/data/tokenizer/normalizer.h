// The normalisers of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/regex.h"

namespace assay::data {

/// What a text of `bytes` may become while it is tokenised. No model's files come near it; a file in which each step
/// doubles what the one before made would fill any memory.
constexpr size_t MostBytesFrom(size_t bytes) {
  return (size_t{64} << 10) + 64 * bytes;
}

/// A text, valid UTF-8, on its way through the normalisers.
struct NormalizedText {
  explicit NormalizedText(std::string_view given);

  /// Fails when `size` is more than the text may become.
  Status CheckSize(size_t size) const;

  std::string bytes;
  /// As many bytes at the beginning as the `tokenizers` library takes for a part of the first character given; 0 when
  /// nothing is left of it.
  size_t first = 0;
  size_t most;
};

/// Rewrites a text before it is cut into words. Immutable, so safe from several threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  /// An error comes from a regular expression whose search takes too much, or from a text that grows too much.
  virtual Status Apply(NormalizedText* text) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

NormalizerPtr MakeUnicodeNormalizer(UnicodeForm form);
NormalizerPtr MakeLowercaseNormalizer();
NormalizerPtr MakeStripNormalizer(bool left, bool right);
NormalizerPtr MakeStripAccentsNormalizer();
NormalizerPtr MakeNmtNormalizer();
NormalizerPtr MakePrependNormalizer(std::string prefix);
NormalizerPtr MakeReplaceNormalizer(std::string from, std::string to);
NormalizerPtr MakeReplaceNormalizer(Regex from, std::string to);
NormalizerPtr MakeBertNormalizer(BertNormalizerOptions options);
/// Text written in the byte alphabet.
NormalizerPtr MakeByteLevelNormalizer();
NormalizerPtr MakeNormalizerSequence(std::vector<NormalizerPtr> parts);

/// `text` with every occurrence of `from`, not empty, replaced by `to`, from left to right.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);
/// `text` with every match of `from` replaced by `to`.
Result<std::string> ReplaceAll(std::string_view text, const Regex& from, std::string_view to);

}  // namespace assay::data
