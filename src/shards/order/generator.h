// The methods of numpy.random.Generator that the sample order is made of, draw for draw.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "shards/order/pcg64.h"

namespace assay::shards {

/// numpy.random.default_rng(seed). numpy promises its streams for a version only (NEP 19), but these methods have drawn
/// the same since 1.17. Belongs to one thread.
class Generator {
 public:
  explicit Generator(uint64_t seed) : bits_(seed) {}

  /// shuffle(values): Fisher and Yates from the end, positions by masked rejection. Fewer than 2^32 values.
  template <typename T>
  void Shuffle(std::span<T> values) {
    // Draws do not depend on the values: taken some ahead, the values they name come out of memory meanwhile.
    constexpr size_t kAhead = 64;
    std::array<uint32_t, kAhead> places;
    for (size_t left = values.size(); left > 1;) {
      const size_t count = std::min(kAhead, left - 1);
      for (size_t i = 0; i < count; ++i) {
        places[i] = Below(static_cast<uint32_t>(left - 1 - i));
        __builtin_prefetch(&values[places[i]], 1);
      }
      for (size_t i = 0; i < count; ++i) {
        --left;
        std::swap(values[left], values[places[i]]);
      }
    }
  }
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    Shuffle(std::span<T>(values));
  }

  /// integers(low, high): low <= value < high, by Lemire's method. `low` must be below `high`.
  int64_t Integers(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Bounded(static_cast<uint64_t>(high - low) - 1));
  }

  /// choice(population, count, replace=False), in the order that numpy gives. Fewer than 2^32, `count` of them at most.
  std::vector<uint32_t> Choice(int64_t population, int64_t count);

  /// One of the values of uniform(low, low + range).
  double Uniform(double low, double range) { return low + range * bits_.NextDouble(); }

 private:
  /// random_interval(largest): 0 to `largest`.
  uint32_t Below(uint32_t largest) {
    const uint32_t mask = ~uint32_t{0} >> std::countl_zero(largest);
    uint32_t value = bits_.Next32() & mask;
    while (value > largest) {
      value = bits_.Next32() & mask;
    }
    return value;
  }
  uint64_t Bounded(uint64_t largest);

  Pcg64 bits_;
};

}  // namespace assay::shards
