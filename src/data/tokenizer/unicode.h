// UTF-8 and the character classes of the tokeniser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::data {

/// Bits of a code point's class. Which Unicode version each follows is that of the `tokenizers` library, class by
/// class (see tools/make_unicode_tables.py): its regular expressions, its Digits and its Punctuation disagree.
enum CharClass : uint16_t {
  kUpper = 1 << 0,         ///< \p{Lu} \p{Lt}
  kLower = 1 << 1,         ///< \p{Ll}
  kOtherLetter = 1 << 2,   ///< \p{Lm} \p{Lo}
  kMark = 1 << 3,          ///< \p{M}
  kNumber = 1 << 4,        ///< \p{N}
  kSpace = 1 << 5,         ///< \s
  kNumeric = 1 << 6,       ///< what the Digits pre-tokeniser isolates
  kPunctuation = 1 << 7,   ///< what the Punctuation and BERT pre-tokenisers isolate
  kWord = 1 << 8,          ///< \w of the Whitespace pre-tokeniser and of single-word added tokens
  kCombining = 1 << 9,     ///< what StripAccents removes
  kControl = 1 << 10,      ///< what BERT's clean_text removes
  kNonspacing = 1 << 11,   ///< what BERT's strip_accents removes after NFD
  kNfcUnstable = 1 << 12,  ///< NFC may change it, alone or after another
  kCased = 1 << 13,        ///< lower-casing changes it
};
/// Bits of what a code point does in a grapheme cluster.
enum GraphemeClass : uint16_t {
  kGraphemeAttached = 1 << 0,      ///< joins what stands before it
  kGraphemeExtending = 1 << 1,     ///< and does not part a pictograph from a joiner, nor a consonant from a linker
  kGraphemePrepended = 1 << 2,     ///< joins what stands behind it
  kGraphemeControl = 1 << 3,       ///< joins nothing
  kGraphemePictographic = 1 << 4,  ///< joins a pictograph and a zero-width joiner
  kGraphemeConsonant = 1 << 5,     ///< joins a consonant and a linker
  kGraphemeLinker = 1 << 6,
};
inline constexpr uint16_t kLetter = kUpper | kLower | kOtherLetter;

inline constexpr uint32_t kCodePointCount = 0x110000;

/// The classes of all code points, `kCodePointCount` of them. Built on first use, constant from then on.
const uint16_t* CharClasses();

struct CodePoint {
  uint32_t value;
  uint32_t bytes;
};

/// The code point that starts at `text`, which must be valid UTF-8.
inline CodePoint DecodeUtf8(const char* text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  if (p[0] < 0x80) {
    return {p[0], 1};
  }
  if (p[0] < 0xE0) {
    return {static_cast<uint32_t>((p[0] & 0x1F) << 6 | (p[1] & 0x3F)), 2};
  }
  if (p[0] < 0xF0) {
    return {static_cast<uint32_t>((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)), 3};
  }
  return {static_cast<uint32_t>((p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F)), 4};
}

/// Bytes of the character whose first byte is `lead`, in valid UTF-8.
inline size_t Utf8Length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Start of the character that ends before `end`, in valid UTF-8.
inline size_t PreviousUtf8(std::string_view text, size_t end) {
  do {
    --end;
  } while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

void AppendUtf8(uint32_t code_point, std::string* out);

bool IsValidUtf8(std::string_view text);

/// `text` with every maximal ill-formed part replaced by U+FFFD, as Python's `errors="replace"` and Rust's
/// `from_utf8_lossy` do.
std::string RepairUtf8(std::string_view text);

/// Whether `code_point` is younger than the normalisation data to be reproduced, which passes it on unchanged. On all
/// others every version of libutf8proc agrees.
bool IsNormalisationBarrier(uint32_t code_point);

/// The bits of GraphemeClass of `code_point`.
uint16_t GraphemeClasses(uint32_t code_point);

/// Appends the lower case of `code_point`, one or two code points.
void AppendLowercase(uint32_t code_point, std::string* out);

}  // namespace assay::data
