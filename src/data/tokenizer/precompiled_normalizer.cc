#include "data/tokenizer/precompiled_normalizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "data/tokenizer/grapheme.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

// A longer grapheme is looked up character by character only, as in the `tokenizers` library.
constexpr size_t kGraphemeBytes = 6;

int Base64Digit(char c) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t digit = kDigits.find(c);
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  uint32_t buffer = 0;
  int bits = 0;
  while (!text.empty() && text.back() == '=') {
    text.remove_suffix(1);
  }
  for (const char c : text) {
    const int digit = Base64Digit(c);
    if (digit < 0) {
      return std::nullopt;
    }
    buffer = buffer << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>(buffer >> bits & 0xFF));
    }
  }
  return bytes;
}

// A Darts-clone double array (Yata): a unit holds a label, an offset to its children and whether a value follows.
class DoubleArray {
 public:
  explicit DoubleArray(std::vector<uint32_t> units) : units_(std::move(units)) {}

  // Value of the shortest key that starts `text`.
  std::optional<uint32_t> ShortestPrefix(std::string_view text) const {
    size_t node = Offset(Unit(0));
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) {
        break;
      }
      node ^= byte;
      const uint32_t unit = Unit(node);
      if ((unit & (1U << 31 | 0xFF)) != byte) {
        break;
      }
      node ^= Offset(unit);
      if ((unit >> 8 & 1) == 1) {
        return Unit(node) & ~(1U << 31);
      }
    }
    return std::nullopt;
  }

 private:
  // Outside the array lies a unit that no label matches: a damaged map ends a look-up, and reads nothing else.
  uint32_t Unit(size_t node) const { return node < units_.size() ? units_[node] : 1U << 31; }
  static size_t Offset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & (1U << 9)) >> 6); }

  std::vector<uint32_t> units_;
};

class PrecompiledNormalizer final : public Normalizer {
 public:
  PrecompiledNormalizer(DoubleArray trie, std::string replacements)
      : trie_(std::move(trie)), replacements_(std::move(replacements)) {}

  Status Apply(NormalizedText* text) const override {
    std::string mapped;
    mapped.reserve(text->bytes.size() + text->bytes.size() / 8);
    size_t first = 0;
    for (size_t begin = 0; begin < text->bytes.size();) {
      const size_t end = GraphemeEnd(text->bytes, begin);
      AppendGrapheme(std::string_view(text->bytes).substr(begin, end - begin), &mapped);
      ASSAY_RETURN_IF_ERROR(text->CheckSize(mapped.size()));
      first = end <= text->first ? mapped.size() : first;
      begin = end;
    }
    // The library loses count of what it removes at the beginning, and takes what follows for the first character.
    if (first == 0 && text->first > 0 && !mapped.empty()) {
      first = std::min(mapped.size(), Utf8Length(mapped[0]));
    }
    text->bytes = std::move(mapped);
    text->first = first;
    return Status::Ok();
  }

 private:
  // The shortest key that starts the grapheme replaces all of it. SentencePiece itself takes the longest, but
  // models are used through the `tokenizers` library, which does this.
  void AppendGrapheme(std::string_view grapheme, std::string* out) const {
    if (grapheme.size() < kGraphemeBytes) {
      if (const std::optional<std::string_view> mapped = Map(grapheme)) {
        *out += *mapped;
        return;
      }
    }
    for (size_t i = 0; i < grapheme.size();) {
      const std::string_view character = grapheme.substr(i, Utf8Length(grapheme[i]));
      *out += Map(character).value_or(character);
      i += character.size();
    }
  }

  std::optional<std::string_view> Map(std::string_view text) const {
    const std::optional<uint32_t> value = trie_.ShortestPrefix(text);
    if (!value || *value > replacements_.size()) {
      return std::nullopt;
    }
    const std::string_view rest = std::string_view(replacements_).substr(*value);
    if (!rest.empty() && (static_cast<unsigned char>(rest[0]) & 0xC0) == 0x80) {
      return std::nullopt;  // within a character
    }
    return rest.substr(0, rest.find('\0'));
  }

  DoubleArray trie_;
  std::string replacements_;
};

}  // namespace

Result<NormalizerPtr> MakePrecompiledNormalizer(std::string_view charsmap) {
  std::optional<std::string> blob = DecodeBase64(charsmap);
  uint32_t trie_bytes = 0;
  if (!blob || blob->size() < sizeof trie_bytes) {
    return Status::InvalidArgument("precompiled_charsmap is not base64 of a character map");
  }
  std::memcpy(&trie_bytes, blob->data(), sizeof trie_bytes);
  if (trie_bytes > blob->size() - sizeof trie_bytes) {
    return Status::InvalidArgument("precompiled_charsmap is truncated");
  }
  std::vector<uint32_t> units(trie_bytes / sizeof(uint32_t));
  if (!units.empty()) {
    std::memcpy(units.data(), blob->data() + sizeof trie_bytes, units.size() * sizeof(uint32_t));
  }
  std::string replacements = blob->substr(sizeof trie_bytes + trie_bytes);
  if (!IsValidUtf8(replacements)) {
    return Status::InvalidArgument("precompiled_charsmap holds replacements that are not UTF-8");
  }
  return NormalizerPtr(std::make_unique<PrecompiledNormalizer>(DoubleArray(std::move(units)), std::move(replacements)));
}

}  // namespace assay::data
