#include "data/tokenizer/splitter.h"

#include <algorithm>
#include <utility>

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

// A place in the text with what the rules ask about it. All rules take `at` < `end` and return the end of the word.
struct Scanner {
  const char* end;
  const uint16_t* classes;

  struct Character {
    uint16_t cls;  // 0 at the end of the text
    uint32_t bytes;
  };

  Character Peek(const char* at) const {
    if (at == end) {
      return {0, 0};
    }
    const CodePoint c = DecodeUtf8(at);
    return {classes[c.value], c.bytes};
  }

  // End of the run of characters from `at` on that have a class of kMask (kWanted) or none of them (not kWanted).
  template <uint16_t kMask, bool kWanted = true>
  const char* Skip(const char* at) const {
    while (at != end) {
      const CodePoint c = DecodeUtf8(at);
      if (((classes[c.value] & kMask) != 0) != kWanted) {
        break;
      }
      at += c.bytes;
    }
    return at;
  }

  // `\s+(?!\S)|\s+` where the run of spaces ends at `run_end`: a word that follows keeps the last space.
  const char* Spaces(const char* at, const char* run_end, bool word_follows) const {
    if (!word_follows) {
      return run_end;
    }
    const char* last = run_end - 1;
    while ((static_cast<unsigned char>(*last) & 0xC0) == 0x80) {
      --last;
    }
    return last == at ? run_end : last;
  }

  bool IsNewline(const char* at) const { return at != end && (*at == '\r' || *at == '\n'); }
};

char AsciiLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Bytes of 's 't 're 've 'm 'll 'd at `at`, or 0. Ignoring case also takes U+017F, whose case folding is s.
template <bool kIgnoreCase>
size_t Contraction(const Scanner& scan, const char* at) {
  if (*at != '\'' || scan.end - at < 2) {
    return 0;
  }
  const char first = kIgnoreCase ? AsciiLower(at[1]) : at[1];
  if (std::string_view("stmd").find(first) != std::string_view::npos) {
    return 2;
  }
  if (scan.end - at < 3) {
    return 0;
  }
  const char pair[] = {first, kIgnoreCase ? AsciiLower(at[2]) : at[2]};
  const std::string_view letters(pair, 2);
  const bool long_s = kIgnoreCase && letters == "\xC5\xBF";
  return long_s || letters == "re" || letters == "ve" || letters == "ll" ? 3 : 0;
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// With kDigits every numeric character is a word, and the text ends before it as far as the pattern can see.
template <bool kDigits>
struct Gpt2Rule {
  static constexpr uint16_t kStop = kDigits ? kNumeric : 0;

  static const char* Match(const Scanner& scan, const char* at) {
    if (const size_t length = Contraction<false>(scan, at)) {
      return at + length;
    }
    Scanner::Character c = scan.Peek(at);
    if ((c.cls & kStop) != 0) {
      return at + c.bytes;
    }
    const char* word = at;
    if (*at == ' ') {
      word = at + 1;
      c = scan.Peek(word);
    }
    if (c.bytes != 0 && (c.cls & (kSpace | kStop)) == 0) {
      return Run(scan, word, c.cls);
    }
    const char* run_end = scan.Skip<kSpace>(word);
    const Scanner::Character after = scan.Peek(run_end);
    return scan.Spaces(at, run_end, after.bytes != 0 && (after.cls & kStop) == 0);
  }

  static const char* Run(const Scanner& scan, const char* word, uint16_t cls) {
    if ((cls & kLetter) != 0) {
      return scan.Skip<kLetter>(word);
    }
    if ((cls & kNumber) != 0) {
      return scan.Skip<kNumber>(word);
    }
    return scan.Skip<kSpace | kLetter | kNumber | kStop, false>(word);
  }
};

// What the patterns below have in common, after their rule for words and contractions:
//   \p{N}{1,kNumbers}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+      ('/' with kSlash only)
template <int kNumbers, bool kSlash>
const char* MatchRest(const Scanner& scan, const char* at, Scanner::Character c) {
  if ((c.cls & kNumber) != 0) {
    for (int i = 0; i < kNumbers && (c.cls & kNumber) != 0; ++i) {
      at += c.bytes;
      c = scan.Peek(at);
    }
    return at;
  }
  const char* symbol = *at == ' ' ? at + 1 : at;
  const Scanner::Character s = scan.Peek(symbol);
  if (s.bytes != 0 && (s.cls & (kSpace | kLetter | kNumber)) == 0) {
    const char* stop = scan.Skip<kSpace | kLetter | kNumber, false>(symbol);
    while (scan.IsNewline(stop) || (kSlash && stop != scan.end && *stop == '/')) {
      ++stop;
    }
    return stop;
  }
  const char* run_end = at;
  const char* after_newline = nullptr;
  for (Scanner::Character space = c; (space.cls & kSpace) != 0; space = scan.Peek(run_end)) {
    const bool newline = scan.IsNewline(run_end);
    run_end += space.bytes;
    after_newline = newline ? run_end : after_newline;
  }
  return after_newline != nullptr ? after_newline : scan.Spaces(at, run_end, run_end != scan.end);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|(the rest)
template <int kNumbers>
struct Cl100kRule {
  static const char* Match(const Scanner& scan, const char* at) {
    if (const size_t length = Contraction<true>(scan, at)) {
      return at + length;
    }
    const Scanner::Character c = scan.Peek(at);
    if ((c.cls & kLetter) != 0) {
      return scan.Skip<kLetter>(at + c.bytes);
    }
    if ((c.cls & kNumber) == 0 && !scan.IsNewline(at)) {
      const char* word = scan.Skip<kLetter>(at + c.bytes);
      if (word != at + c.bytes) {
        return word;
      }
    }
    return MatchRest<kNumbers, false>(scan, at, c);
  }
};

// [^\r\n\p{L}\p{N}]?U*L+(contraction)?|[^\r\n\p{L}\p{N}]?U+L*(contraction)?|(the rest)
// where U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L = [\p{Ll}\p{Lm}\p{Lo}\p{M}].
template <int kNumbers, bool kContraction>
struct CasedRule {
  static constexpr uint16_t kU = kUpper | kOtherLetter | kMark;
  static constexpr uint16_t kL = kLower | kOtherLetter | kMark;

  static const char* Match(const Scanner& scan, const char* at) {
    const Scanner::Character c = scan.Peek(at);
    const bool prefix = (c.cls & (kLetter | kNumber)) == 0 && !scan.IsNewline(at);
    const char* bare = at + c.bytes;
    const char* stop = prefix ? EndsLower(scan, bare) : nullptr;
    stop = stop == nullptr ? EndsLower(scan, at) : stop;
    stop = stop == nullptr && prefix ? UpperFirst(scan, bare) : stop;
    stop = stop == nullptr ? UpperFirst(scan, at) : stop;
    if (stop == nullptr) {
      return MatchRest<kNumbers, true>(scan, at, c);
    }
    return kContraction && stop != scan.end ? stop + Contraction<true>(scan, stop) : stop;
  }

  // U*L+ with its backtracking: when no L follows the run of U, the match ends after the last character that is both.
  static const char* EndsLower(const Scanner& scan, const char* at) {
    const char* after_both = nullptr;
    const char* upper_end = at;
    for (Scanner::Character c = scan.Peek(at); (c.cls & kU) != 0; c = scan.Peek(upper_end)) {
      upper_end += c.bytes;
      after_both = (c.cls & kL) != 0 ? upper_end : after_both;
    }
    const char* lower_end = scan.Skip<kL>(upper_end);
    return lower_end != upper_end ? lower_end : after_both;
  }

  static const char* UpperFirst(const Scanner& scan, const char* at) {
    const char* upper_end = scan.Skip<kU>(at);
    return upper_end == at ? nullptr : scan.Skip<kL>(upper_end);
  }
};

template <typename Rule>
class RuleSplitter final : public Splitter {
 public:
  size_t Next(std::string_view text, size_t begin, std::span<size_t> ends) const override {
    const Scanner scan{text.data() + text.size(), classes_};
    const char* at = text.data() + begin;
    size_t count = 0;
    while (at != scan.end && count < ends.size()) {
      at = Rule::Match(scan, at);
      ends[count++] = static_cast<size_t>(at - text.data());
    }
    return count;
  }

 private:
  const uint16_t* classes_ = CharClasses();
};

class SeparatorSplitter final : public Splitter {
 public:
  explicit SeparatorSplitter(std::string separator) : separator_(std::move(separator)) {}

  size_t Next(std::string_view text, size_t begin, std::span<size_t> ends) const override {
    size_t count = 0;
    while (begin < text.size() && count < ends.size()) {
      while (text.substr(begin).starts_with(separator_)) {
        begin += separator_.size();
      }
      begin = std::min(text.size(), text.find(separator_, begin));
      ends[count++] = begin;
    }
    return count;
  }

 private:
  std::string separator_;
};

template <typename Rule>
std::unique_ptr<const Splitter> Make() {
  return std::make_unique<RuleSplitter<Rule>>();
}

struct KnownPattern {
  std::string_view pattern;
  std::unique_ptr<const Splitter> (*make)();
};

constexpr KnownPattern kKnownPatterns[] = {
    {kGpt2Pattern, Make<Gpt2Rule<false>>},
    // Llama 3, Phi 4, OLMo 2
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Make<Cl100kRule<3>>},
    // cl100k as tiktoken writes it
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     Make<Cl100kRule<3>>},
    // Qwen 2, 2.5 and 3
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Make<Cl100kRule<1>>},
    // o200k: GPT-4o, Llama 4
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Make<CasedRule<3, true>>},
    // Tekken: Mistral Nemo and later
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Make<CasedRule<1, false>>},
};

}  // namespace

std::unique_ptr<const Splitter> MakeSplitter(std::string_view pattern) {
  for (const KnownPattern& known : kKnownPatterns) {
    if (known.pattern == pattern) {
      return known.make();
    }
  }
  return nullptr;
}

std::unique_ptr<const Splitter> MakeGpt2DigitsSplitter() {
  return Make<Gpt2Rule<true>>();
}

std::unique_ptr<const Splitter> MakeSeparatorSplitter(std::string separator) {
  return std::make_unique<SeparatorSplitter>(std::move(separator));
}

}  // namespace assay::data
