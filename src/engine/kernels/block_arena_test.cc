#include "engine/kernels/block_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace assay::engine {
namespace {

constexpr size_t kPage = BlockArena::kGranularity;
constexpr size_t kReserved = size_t{1} << 30;

TEST(BlockArena, FreedBlocksAreReused) {
  BlockArena arena(kReserved);
  void* first = arena.take(10 * kPage);
  ASSERT_NE(first, nullptr);
  void* fence = arena.take(kPage);
  arena.give(first, 10 * kPage);
  EXPECT_EQ(arena.take(10 * kPage - 100), first);
  EXPECT_TRUE(arena.holds(fence));
  EXPECT_EQ(arena.footprint(), 11 * kPage);
}

TEST(BlockArena, NeighboursThatAreFreeBecomeOne) {
  BlockArena arena(kReserved);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(arena.take(2 * kPage));
  }
  for (const int i : {0, 2, 1}) {
    arena.give(blocks[i], 2 * kPage);
  }
  EXPECT_EQ(arena.take(6 * kPage), blocks[0]);
  EXPECT_EQ(arena.footprint(), 8 * kPage);
}

TEST(BlockArena, TakesTheSmallestRangeThatFits) {
  BlockArena arena(kReserved);
  void* large = arena.take(8 * kPage);
  arena.take(kPage);
  void* small = arena.take(3 * kPage);
  arena.take(kPage);
  arena.give(large, 8 * kPage);
  arena.give(small, 3 * kPage);
  EXPECT_EQ(arena.take(2 * kPage), small);
}

TEST(BlockArena, GrowsOutOfAFreeRangeAtTheTop) {
  BlockArena arena(kReserved);
  arena.take(kPage);
  void* last = arena.take(4 * kPage);
  arena.give(last, 4 * kPage);
  EXPECT_EQ(arena.take(6 * kPage), last);
  EXPECT_EQ(arena.footprint(), 7 * kPage);
}

TEST(BlockArena, IsFullAtItsReservation) {
  BlockArena arena(kReserved);
  EXPECT_EQ(arena.take(kReserved + 1), nullptr);
  void* all = arena.take(kReserved);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(arena.take(1), nullptr);
  arena.give(all, kReserved);
  EXPECT_NE(arena.take(1), nullptr);
}

TEST(BlockArena, BlocksNeverOverlap) {
  BlockArena arena(kReserved);
  std::mt19937 random(7);
  std::vector<std::pair<uint8_t*, size_t>> blocks;
  for (int i = 0; i < 3000; ++i) {
    if (blocks.size() > 40 || (!blocks.empty() && random() % 3 == 0)) {
      const size_t victim = random() % blocks.size();
      const auto [block, bytes] = blocks[victim];
      EXPECT_EQ(block[0], block[bytes - 1]);
      EXPECT_EQ(block[0], static_cast<uint8_t>(bytes % 251));
      arena.give(block, bytes);
      blocks.erase(blocks.begin() + static_cast<int64_t>(victim));
    }
    const size_t bytes = 1 + random() % (20 * kPage);
    auto* block = static_cast<uint8_t*>(arena.take(bytes));
    ASSERT_NE(block, nullptr);
    std::memset(block, static_cast<int>(bytes % 251), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (const auto& [block, bytes] : blocks) {
    arena.give(block, bytes);
  }
  const size_t footprint = arena.footprint();
  EXPECT_NE(arena.take(footprint), nullptr);
  EXPECT_EQ(arena.footprint(), footprint) << "all free ranges are one again";
}

}  // namespace
}  // namespace assay::engine
