#include "shards/order/generator.h"

#include <limits>
#include <numeric>
#include <unordered_set>

namespace assay::shards {

uint64_t Generator::Bounded(uint64_t largest) {
  // Lemire, "Fast Random Integer Generation in an Interval", 2019.
  constexpr uint64_t kAll32 = std::numeric_limits<uint32_t>::max();
  if (largest == 0) {
    return 0;
  }
  if (largest == kAll32) {
    return bits_.Next32();
  }
  if (largest < kAll32) {
    const auto count = static_cast<uint32_t>(largest + 1);
    uint64_t product = uint64_t{bits_.Next32()} * count;
    if (static_cast<uint32_t>(product) < count) {
      const uint32_t threshold = static_cast<uint32_t>(kAll32 - largest) % count;
      while (static_cast<uint32_t>(product) < threshold) {
        product = uint64_t{bits_.Next32()} * count;
      }
    }
    return product >> 32;
  }
  using Wide = unsigned __int128;
  const uint64_t count = largest + 1;
  Wide product = Wide{bits_.Next64()} * count;
  if (static_cast<uint64_t>(product) < count) {
    const uint64_t threshold = (std::numeric_limits<uint64_t>::max() - largest) % count;
    while (static_cast<uint64_t>(product) < threshold) {
      product = Wide{bits_.Next64()} * count;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

std::vector<uint32_t> Generator::Choice(int64_t population, int64_t count) {
  const auto draw = [this](int64_t largest) { return static_cast<uint32_t>(Bounded(static_cast<uint64_t>(largest))); };
  if (population > 10000 && count > population / 50) {  // shuffles the tail of all
    std::vector<uint32_t> all(static_cast<size_t>(population));
    std::iota(all.begin(), all.end(), 0u);
    for (int64_t i = population - 1; i >= std::max<int64_t>(population - count, 1); --i) {
      std::swap(all[static_cast<size_t>(i)], all[draw(i)]);
    }
    all.erase(all.begin(), all.end() - count);
    return all;
  }
  std::unordered_set<uint32_t> seen;  // Floyd's method, and a shuffle
  std::vector<uint32_t> chosen;
  for (int64_t i = population - count; i < population; ++i) {
    const uint32_t drawn = draw(i);
    chosen.push_back(seen.insert(drawn).second ? drawn : static_cast<uint32_t>(i));
    seen.insert(chosen.back());
  }
  for (int64_t i = count - 1; i > 0; --i) {
    std::swap(chosen[static_cast<size_t>(i)], chosen[draw(i)]);
  }
  return chosen;
}

}  // namespace assay::shards
