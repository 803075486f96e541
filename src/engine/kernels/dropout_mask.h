// The random numbers of dropout masks, the same on the host and in CUDA kernels.
//
// Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3"): four numbers of 32 bits that
// follow from a counter and a key alone. Private to engine/kernels.
#pragma once

#include <cstdint>

#include "engine/kernels/cuda/lanes.h"

namespace assay::engine {

/// A mask of [tokens, features] as plain pointers.
struct DropoutMaskTask {
  const int64_t* keys;  ///< one of each token
  uint8_t* mask;
  int64_t tokens;
  int64_t first_feature;
  int64_t features;
  uint64_t stream;
  uint32_t dropped_below;  ///< numbers of elements that are dropped
};

/// Features that the numbers of one counter are for, one after the other.
inline constexpr int64_t kFeaturesOfCounter = 4;

/// `Lanes` says what a word is, one number or a vector of them, and how words are multiplied: multiply(a, factor, high,
/// low) gives both halves of the product. `words` go from the counter to its numbers.
template <typename Lanes>
ASSAY_DEVICE_CODE inline void philox(typename Lanes::Word (&words)[4], uint64_t key) {
  constexpr int kRounds = 10;
  auto low_key = static_cast<uint32_t>(key);
  auto high_key = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    typename Lanes::Word high[2];
    typename Lanes::Word low[2];
    Lanes::multiply(words[0], 0xD2511F53U, high[0], low[0]);
    Lanes::multiply(words[2], 0xCD9E8D57U, high[1], low[1]);
    words[0] = high[1] ^ words[1] ^ low_key;
    words[1] = low[1];
    words[2] = high[0] ^ words[3] ^ high_key;
    words[3] = low[0];
    low_key += 0x9E3779B9U;
    high_key += 0xBB67AE85U;
  }
}

}  // namespace assay::engine
