#include "shards/order/pcg64.h"

#include <array>
#include <bit>

namespace assay::shards {
namespace {

static_assert(std::endian::native == std::endian::little);

/// numpy.random.SeedSequence with a pool of four words (O'Neill, "Developing a seed_seq Alternative", 2015).
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    const std::array<uint32_t, kWords> entropy = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    uint32_t hash = 0x43b0d7e5;
    for (size_t i = 0; i < kWords; ++i) {
      pool_[i] = Hash(entropy[i], hash, 0x931e8875);
    }
    for (size_t from = 0; from < kWords; ++from) {
      for (size_t to = 0; to < kWords; ++to) {
        if (from != to) {
          pool_[to] = Mix(pool_[to], Hash(pool_[from], hash, 0x931e8875));
        }
      }
    }
  }

  std::array<uint64_t, 4> Generate() const {
    std::array<uint64_t, 4> words{};
    uint32_t hash = 0x8b51f9dd;
    for (size_t i = 0; i < 2 * words.size(); ++i) {
      words[i / 2] |= uint64_t{Hash(pool_[i % kWords], hash, 0x58f38ded)} << (32 * (i % 2));
    }
    return words;
  }

 private:
  static constexpr size_t kWords = 4;

  static uint32_t Hash(uint32_t value, uint32_t& hash, uint32_t multiplier) {
    value ^= hash;
    hash *= multiplier;
    value *= hash;
    return value ^ (value >> 16);
  }
  static uint32_t Mix(uint32_t x, uint32_t y) {
    const uint32_t mixed = 0xca01f9dd * x - 0x4973f715 * y;
    return mixed ^ (mixed >> 16);
  }

  std::array<uint32_t, kWords> pool_{};
};

}  // namespace

Pcg64::Pcg64(uint64_t seed) {
  const std::array<uint64_t, 4> words = SeedSequence(seed).Generate();
  const Word sequence = (Word{words[2]} << 64) | words[3];
  increment_ = (sequence << 1) | 1;
  state_ = increment_ + ((Word{words[0]} << 64) | words[1]);
  state_ = state_ * kMultiplier + increment_;
}

}  // namespace assay::shards
