// numpy's default bit generator, bit for bit.
#pragma once

#include <cstdint>

namespace assay::shards {

/// PCG64 (XSL-RR 128/64; O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
/// Random Number Generation", 2014), seeded as numpy.random.default_rng(seed) seeds it: by a SeedSequence of the seed's
/// 32-bit words. Belongs to one thread.
class Pcg64 {
 public:
  explicit Pcg64(uint64_t seed);

  uint64_t Next64() {
    state_ = state_ * kMultiplier + increment_;
    const auto folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const auto turn = static_cast<unsigned>(state_ >> 122);
    return (folded >> turn) | (folded << ((64 - turn) & 63));
  }
  /// The low half of a draw, then its high half; the latter is kept whatever 64-bit draws come between, as numpy does.
  uint32_t Next32() {
    if (has_half_) {
      has_half_ = false;
      return half_;
    }
    const uint64_t both = Next64();
    has_half_ = true;
    half_ = static_cast<uint32_t>(both >> 32);
    return static_cast<uint32_t>(both);
  }
  /// In [0, 1), of 53 bits.
  double NextDouble() { return static_cast<double>(Next64() >> 11) * 0x1p-53; }

 private:
  using Word = unsigned __int128;
  static constexpr Word kMultiplier = (Word{0x2360ed051fc65da4} << 64) | 0x4385df649fccf645;

  Word state_ = 0;
  Word increment_ = 0;
  bool has_half_ = false;
  uint32_t half_ = 0;
};

}  // namespace assay::shards
