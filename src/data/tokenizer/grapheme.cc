#include "data/tokenizer/grapheme.h"

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

constexpr uint32_t kZeroWidthNonJoiner = 0x200C;
constexpr uint32_t kZeroWidthJoiner = 0x200D;

// The parts of a Hangul syllable, in the order in which they join.
enum class Hangul { kNone, kLeading, kVowel, kTrailing, kSyllable, kClosedSyllable };

Hangul HangulOf(uint32_t c) {
  const auto within = [c](uint32_t first, uint32_t last) { return c >= first && c <= last; };
  if (c < 0x1100 || c > 0xD7FB) {
    return Hangul::kNone;
  }
  if (within(0x1100, 0x115F) || within(0xA960, 0xA97C)) {
    return Hangul::kLeading;
  }
  if (within(0x1160, 0x11A7) || within(0xD7B0, 0xD7C6)) {
    return Hangul::kVowel;
  }
  if (within(0x11A8, 0x11FF) || within(0xD7CB, 0xD7FB)) {
    return Hangul::kTrailing;
  }
  constexpr uint32_t kTrailingParts = 28;
  return !within(0xAC00, 0xD7A3)              ? Hangul::kNone
         : (c - 0xAC00) % kTrailingParts == 0 ? Hangul::kSyllable
                                              : Hangul::kClosedSyllable;
}

bool HangulJoins(Hangul before, Hangul after) {
  switch (before) {
    case Hangul::kLeading:
      return after != Hangul::kNone && after != Hangul::kTrailing;
    case Hangul::kVowel:
    case Hangul::kSyllable:
      return after == Hangul::kVowel || after == Hangul::kTrailing;
    case Hangul::kTrailing:
    case Hangul::kClosedSyllable:
      return after == Hangul::kTrailing;
    case Hangul::kNone:
      return false;
  }
  return false;
}

// A cluster as far as it has been read.
class Cluster {
 public:
  explicit Cluster(uint32_t c) { Take(c, GraphemeClasses(c)); }

  // Whether `c` belongs to the cluster, and takes it if it does.
  bool Add(uint32_t c) {
    const uint16_t classes = GraphemeClasses(c);
    if (!Joins(c, classes)) {
      return false;
    }
    Take(c, classes);
    return true;
  }

 private:
  bool Joins(uint32_t c, uint16_t classes) const {
    if ((last_classes_ & kGraphemeControl) != 0 || (classes & kGraphemeControl) != 0) {
      return last_ == '\r' && c == '\n';
    }
    return (classes & kGraphemeAttached) != 0 || (last_classes_ & kGraphemePrepended) != 0 ||
           HangulJoins(HangulOf(last_), HangulOf(c)) || (picture_joined_ && (classes & kGraphemePictographic) != 0) ||
           (conjunct_linked_ && (classes & kGraphemeConsonant) != 0);
  }

  void Take(uint32_t c, uint16_t classes) {
    const bool extending = (classes & kGraphemeExtending) != 0;
    picture_joined_ = picture_ && c == kZeroWidthJoiner;
    picture_ = (classes & kGraphemePictographic) != 0 || (picture_ && extending);
    if ((classes & kGraphemeConsonant) != 0) {
      conjunct_ = true;
      conjunct_linked_ = false;
    } else {
      // Of the two joiners the other one extends a conjunct.
      conjunct_ = conjunct_ && (c == kZeroWidthJoiner || (extending && c != kZeroWidthNonJoiner));
      conjunct_linked_ = conjunct_ && (conjunct_linked_ || (classes & kGraphemeLinker) != 0);
    }
    last_ = c;
    last_classes_ = classes;
  }

  uint32_t last_ = 0;
  uint16_t last_classes_ = 0;
  bool picture_ = false;          // a pictograph, and what extends it
  bool picture_joined_ = false;   // the same and a joiner
  bool conjunct_ = false;         // a consonant, and what extends it
  bool conjunct_linked_ = false;  // the same with a linker
};

}  // namespace

size_t GraphemeEnd(std::string_view text, size_t begin) {
  const CodePoint first = DecodeUtf8(text.data() + begin);
  size_t end = begin + first.bytes;
  const auto is_ascii = [&](size_t i) { return static_cast<unsigned char>(text[i]) < 0x80; };
  if (end == text.size() || (first.value < 0x80 && first.value != '\r' && is_ascii(end))) {
    return end;
  }
  Cluster cluster(first.value);
  while (end < text.size()) {
    const CodePoint next = DecodeUtf8(text.data() + end);
    if (!cluster.Add(next.value)) {
      break;
    }
    end += next.bytes;
  }
  return end;
}

}  // namespace assay::data
