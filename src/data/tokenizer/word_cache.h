// Words already encoded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace assay::data {

/// A bounded map from short words to their ids, of one cache line a word. Two-way associative: of the two lines a word
/// may be in, the first holds the one added last. For one thread.
class WordCache {
 public:
  static constexpr size_t kMaxBytes = 24;
  static constexpr size_t kMaxIds = 9;

  WordCache() : lines_(std::make_unique<Line[]>(kLines)) {}

  /// Copies the ids of `word` to `ids`, which has room for kMaxIds, and returns how many they are; 0 when unknown.
  /// The bytes up to `text_end`, where the text that holds the word ends, are readable.
  size_t Find(std::string_view word, const char* text_end, int32_t* ids) const {
    if (word.size() > kMaxBytes) {
      return 0;
    }
    const Key key(word, text_end);
    const size_t first = key.Index();
    for (const Line* line : {&lines_[first], &lines_[first ^ 1]}) {
      if (line->Holds(key)) {
        std::memcpy(ids, line->ids, sizeof line->ids);
        return line->count;
      }
    }
    return 0;
  }

  /// Remembers `word`, not empty, when it and its ids fit in a line.
  void Add(std::string_view word, const char* text_end, std::span<const int32_t> ids) {
    if (word.size() > kMaxBytes || ids.size() > kMaxIds || ids.empty()) {
      return;
    }
    const Key key(word, text_end);
    const size_t first = key.Index();
    lines_[first ^ 1] = lines_[first];
    Line& line = lines_[first];
    std::copy_n(key.parts, 3, line.parts);
    line.size = key.size;
    line.count = static_cast<uint8_t>(ids.size());
    std::copy(ids.begin(), ids.end(), line.ids);
  }

 private:
  static constexpr unsigned kLineBits = 15;
  static constexpr size_t kLines = size_t{1} << kLineBits;

  // A word padded with zeros, and its length.
  struct Key {
    uint64_t parts[3];
    uint8_t size;

    Key(std::string_view word, const char* text_end) : parts{0, 0, 0}, size(static_cast<uint8_t>(word.size())) {
      if (static_cast<size_t>(text_end - word.data()) < kMaxBytes) {
        std::memcpy(parts, word.data(), word.size());
        return;
      }
      std::memcpy(parts, word.data(), 8);
      if (word.size() <= 8) {
        parts[0] &= Mask(word.size());
        return;
      }
      std::memcpy(parts + 1, word.data() + 8, 16);
      parts[1] &= Mask(std::min<size_t>(word.size() - 8, 8));
      parts[2] &= word.size() > 16 ? Mask(word.size() - 16) : 0;
    }

    static uint64_t Mask(size_t bytes) { return ~uint64_t{0} >> (64 - 8 * bytes); }  // 1 to 8 bytes, little endian

    size_t Index() const {
      uint64_t hash = parts[0] * 0x9E3779B97F4A7C15ULL;
      hash = (hash ^ hash >> 32 ^ parts[1]) * 0xD6E8FEB86659FD93ULL;
      hash = (hash ^ hash >> 32 ^ parts[2] ^ size) * 0x9E3779B97F4A7C15ULL;
      return hash >> (64 - kLineBits);
    }
  };

  struct alignas(64) Line {
    uint64_t parts[3];
    int32_t ids[kMaxIds];
    uint8_t size = 0;  // 0: empty
    uint8_t count;

    bool Holds(const Key& key) const {
      return parts[0] == key.parts[0] && parts[1] == key.parts[1] && parts[2] == key.parts[2] && size == key.size;
    }
  };
  static_assert(sizeof(Line) == 64);

  std::unique_ptr<Line[]> lines_;
};

}  // namespace assay::data
