// The normalisers of tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/regex.h"

namespace assay::data {

/// Rewrites text, valid UTF-8, before it is cut into words. Immutable, so safe from several threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  /// Rewrites `text`. Clears `*at_start` when the `tokenizers` library would say that what is left does not begin where
  /// the text began. An error comes from a regular expression that takes too many steps.
  virtual Status Apply(std::string* text, bool* at_start) const = 0;

  Status Apply(std::string* text) const {
    bool at_start = false;
    return Apply(text, &at_start);
  }
};

/// A normaliser that is not made of others.
class SingleNormalizer : public Normalizer {
 public:
  using Normalizer::Apply;
  Status Apply(std::string* text, bool* at_start) const final;

 protected:
  virtual Status Rewrite(std::string* text) const = 0;
  /// Whether `text`, not empty, keeps its beginning: by itself, its first character does not vanish.
  virtual bool KeepsStart(std::string_view text) const;
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
