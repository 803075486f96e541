#include "engine/train/row_deal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace assay::engine {
namespace {

using testing::ElementsAre;
using Hands = std::vector<std::vector<int64_t>>;

TEST(RowDeal, OneRankHasAllRowsInTheirOrder) {
  EXPECT_EQ(deal_rows(std::vector<int64_t>{3, 9, 1}, 1), (Hands{{0, 1, 2}}));
}

TEST(RowDeal, LongRowsGoApart) {
  EXPECT_EQ(deal_rows(std::vector<int64_t>{100, 90, 10, 1}, 2), (Hands{{0, 3}, {1, 2}}));
}

TEST(RowDeal, FewerRowsThanRanksLeaveSomeWithout) {
  EXPECT_EQ(deal_rows(std::vector<int64_t>{5, 7}, 3), (Hands{{1}, {0}, {}}));
  EXPECT_EQ(deal_rows(std::vector<int64_t>{}, 2), (Hands{{}, {}}));
}

TEST(RowDeal, EveryRowGoesToOneRankAndTokensAreNearlyEven) {
  std::vector<int64_t> tokens(64);
  uint64_t state = 7;
  for (int64_t& length : tokens) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    length = 16 + static_cast<int64_t>(state >> 33) % 497;
  }
  for (const int64_t ranks : {2, 3, 4, 7}) {
    std::vector<int64_t> sums;
    std::vector<int64_t> all;
    for (const auto& rows : deal_rows(tokens, ranks)) {
      EXPECT_TRUE(std::ranges::is_sorted(rows));
      EXPECT_LE(static_cast<int64_t>(rows.size()) - 64 / ranks, 1);
      EXPECT_GE(static_cast<int64_t>(rows.size()), 64 / ranks);
      all.insert(all.end(), rows.begin(), rows.end());
      sums.push_back(std::accumulate(rows.begin(), rows.end(), int64_t{0},
                                     [&](int64_t sum, int64_t row) { return sum + tokens[row]; }));
    }
    std::ranges::sort(all);
    std::vector<int64_t> every(64);
    std::iota(every.begin(), every.end(), 0);
    EXPECT_EQ(all, every);
    const auto [least, most] = std::ranges::minmax(sums);
    EXPECT_LE(static_cast<double>(most - least), 0.05 * static_cast<double>(most)) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace assay::engine
