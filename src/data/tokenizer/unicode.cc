#include "data/tokenizer/unicode.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace assay::data {
namespace {

struct ClassRange {
  uint32_t first;
  uint32_t last;
  uint16_t classes;
};

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

struct LowercaseChange {
  uint32_t code_point;
  uint32_t first;
  uint32_t second;  // 0: none
};

#include "data/tokenizer/unicode_tables.inc"

// The range of `table` that holds `code_point`, or null.
template <typename Range, size_t kSize>
const Range* FindRange(const Range (&table)[kSize], uint32_t code_point) {
  const auto* after = std::upper_bound(std::begin(table), std::end(table), code_point,
                                       [](uint32_t c, const Range& range) { return c < range.first; });
  return after != std::begin(table) && code_point <= std::prev(after)->last ? std::prev(after) : nullptr;
}

std::vector<uint16_t> BuildClasses() {
  std::vector<uint16_t> classes(kCodePointCount, 0);
  for (const ClassRange& range : kClassRanges) {
    std::fill(classes.begin() + range.first, classes.begin() + range.last + 1, range.classes);
  }
  return classes;
}

// Length of the well-formed character at the start of `text`, or 0; `*ill_formed` is then how many bytes one U+FFFD
// stands for (Unicode 15, table 3-7 and section 3.9, "maximal subpart").
size_t WellFormedLength(std::string_view text, size_t* ill_formed) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  *ill_formed = 1;
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4) {
    return 0;
  }
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) {
      *ill_formed = i;
      return 0;
    }
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

// Number of bytes at the start of `text` that are ASCII, in steps of eight.
size_t AsciiPrefix(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::copy_n(text.data() + i, 8, reinterpret_cast<char*>(&word));
    if ((word & 0x8080808080808080ULL) != 0) {
      break;
    }
  }
  return i;
}

}  // namespace

const uint16_t* CharClasses() {
  static const std::vector<uint16_t> classes = BuildClasses();
  return classes.data();
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto push = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xC0 | code_point >> 6);
    push(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    push(0xE0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  } else {
    push(0xF0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3F));
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  }
}

bool IsValidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    i += AsciiPrefix(text.substr(i));
    // A character at a time up to the next stretch of ASCII.
    for (size_t stop = std::min(text.size(), i + 8); i < stop;) {
      size_t ill_formed;
      const size_t length = WellFormedLength(text.substr(i), &ill_formed);
      if (length == 0) {
        return false;
      }
      i += length;
    }
  }
  return true;
}

std::string RepairUtf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 16);
  for (size_t i = 0; i < text.size();) {
    size_t ill_formed;
    const size_t length = WellFormedLength(text.substr(i), &ill_formed);
    if (length == 0) {
      repaired += "\xEF\xBF\xBD";
      i += ill_formed;
    } else {
      repaired.append(text, i, length);
      i += length;
    }
  }
  return repaired;
}

bool IsNormalisationBarrier(uint32_t code_point) {
  return FindRange(kNormalisationBarriers, code_point) != nullptr;
}

uint16_t GraphemeClasses(uint32_t code_point) {
  const ClassRange* range = FindRange(kGraphemeClasses, code_point);
  return range == nullptr ? uint16_t{0} : range->classes;
}

void AppendLowercase(uint32_t code_point, std::string* out) {
  if ((CharClasses()[code_point] & kCased) == 0) {
    AppendUtf8(code_point, out);
    return;
  }
  const auto* change = std::lower_bound(std::begin(kLowercaseChanges), std::end(kLowercaseChanges), code_point,
                                        [](const LowercaseChange& row, uint32_t c) { return row.code_point < c; });
  AppendUtf8(change->first, out);
  if (change->second != 0) {
    AppendUtf8(change->second, out);
  }
}

}  // namespace assay::data
