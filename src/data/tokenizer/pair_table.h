// A read-mostly hash table from a pair of integers to a pair of integers, for merge ranks and trie edges.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::data {

/// Open addressing with linear probing, at most half full: a look-up of a missing key, the common case when merging,
/// ends after about one probe.
class PairTable {
 public:
  struct Value {
    uint32_t rank;  ///< kMissing: not in the table
    int32_t id;
  };
  static constexpr uint32_t kMissing = UINT32_MAX;

  /// Room for `count` keys; no more may be inserted.
  explicit PairTable(size_t count) {
    while ((size_t{1} << bits_) < 2 * count) {
      ++bits_;
    }
    slots_.assign(size_t{1} << bits_, Slot{0, {kMissing, 0}});
  }

  /// Inserts, or replaces the value of an equal key. `value.rank` is not kMissing.
  void Insert(int32_t a, int32_t b, Value value) {
    const uint64_t key = Key(a, b);
    slots_[Probe(key)] = {key, value};
  }

  Value Find(int32_t a, int32_t b) const { return slots_[Probe(Key(a, b))].value; }

 private:
  struct Slot {
    uint64_t key;
    Value value;
  };

  static uint64_t Key(int32_t a, int32_t b) {
    return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
  }

  // Index of the slot that holds `key`, or of the free one where it belongs.
  size_t Probe(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t i = (key ^ key >> 29) * 0x9E3779B97F4A7C15ULL >> (64 - bits_);
    while (slots_[i].value.rank != kMissing && slots_[i].key != key) {
      i = (i + 1) & mask;
    }
    return i;
  }

  unsigned bits_ = 1;
  std::vector<Slot> slots_;
};

}  // namespace assay::data
