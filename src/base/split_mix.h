// Random numbers by place: the same for the same index, whoever asks, in whatever order.
#pragma once

#include <cstdint>

namespace assay {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): its output `index`.
constexpr uint64_t SplitMix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace assay
