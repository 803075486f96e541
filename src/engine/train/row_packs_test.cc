#include "engine/train/row_packs.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace assay::engine {
namespace {

using Packs = std::vector<std::vector<int64_t>>;

TEST(PackByLength, FillsTheFullestPackThatARowFits) {
  EXPECT_EQ(pack_by_length(std::vector<int64_t>{5, 5, 5, 5}, 10), (Packs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pack_by_length(std::vector<int64_t>{2, 7, 5, 3, 3}, 10), (Packs{{0, 2, 4}, {1, 3}}));
  EXPECT_EQ(pack_by_length(std::vector<int64_t>{}, 10), Packs());
}

TEST(PackByLength, ALongerRowIsAlone) {
  EXPECT_EQ(pack_by_length(std::vector<int64_t>{12, 4, 10}, 10), (Packs{{0}, {1}, {2}}));
}

TEST(PackByLength, EveryRowIsInOnePackAndFewPacksAreEmptyInPart) {
  std::mt19937 generator(1);
  std::vector<int64_t> lengths(500);
  std::ranges::generate(lengths, [&] { return 1 + static_cast<int64_t>(generator() % 64); });
  const Packs packs = pack_by_length(lengths, 100);
  std::vector<int> seen(lengths.size());
  for (const std::vector<int64_t>& pack : packs) {
    int64_t tokens = 0;
    for (const int64_t row : pack) {
      ++seen[static_cast<size_t>(row)];
      tokens += lengths[static_cast<size_t>(row)];
    }
    EXPECT_LE(tokens, 100);
    EXPECT_TRUE(std::ranges::is_sorted(pack));
  }
  EXPECT_EQ(seen, std::vector<int>(lengths.size(), 1));
  const int64_t least = (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) + 99) / 100;
  EXPECT_LE(static_cast<int64_t>(packs.size()), least + 2);
}

}  // namespace
}  // namespace assay::engine
