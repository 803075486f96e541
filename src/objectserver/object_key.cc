#include "objectserver/object_key.h"

#include <cstdint>
#include <iterator>

namespace assay::objectserver {
namespace {

/// A row of table 3-7 of the Unicode standard: the first byte, what the second may be, and how many follow.
struct Utf8Row {
  uint8_t first_from;
  uint8_t first_to;
  uint8_t second_from;
  uint8_t second_to;
  size_t following;
};

constexpr Utf8Row kUtf8Rows[] = {
    {0x01, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 0x80, 0xbf, 1}, {0xe0, 0xe0, 0xa0, 0xbf, 2},
    {0xe1, 0xec, 0x80, 0xbf, 2}, {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
    {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3}, {0xf4, 0xf4, 0x80, 0x8f, 3},
};

/// Bytes of the character that `text` begins with; 0: it is none, or NUL.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (const Utf8Row& row : kUtf8Rows) {
    if (byte(0) < row.first_from || byte(0) > row.first_to) {
      continue;
    }
    if (text.size() <= row.following || (row.following > 0 && (byte(1) < row.second_from || byte(1) > row.second_to))) {
      return 0;
    }
    for (size_t i = 2; i <= row.following; ++i) {
      if (byte(i) < 0x80 || byte(i) > 0xbf) {
        return 0;
      }
    }
    return row.following + 1;
  }
  return 0;
}

}  // namespace

bool IsObjectKey(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return false;
  }
  while (!key.empty()) {
    const size_t bytes = CharacterBytes(key);
    if (bytes == 0) {
      return false;
    }
    key.remove_prefix(bytes);
  }
  return true;
}

}  // namespace assay::objectserver
