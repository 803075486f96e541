#include "storage/transfer/range_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"

namespace assay::storage {
namespace {

class RangePlanTest : public testing::Test {
 protected:
  ReadPiece Piece(int64_t offset, int64_t bytes) {
    memory_.emplace_back(static_cast<size_t>(bytes));
    return {offset, memory_.back()};
  }
  std::vector<std::vector<std::byte>> memory_;
};

TEST_F(RangePlanTest, CutsLargePieces) {
  const std::vector<ReadPiece> pieces = {Piece(5, 2 * kMiB + 1)};
  const auto requests = PlanRanges(pieces, kMiB);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].offset, 5 + kMiB);
  EXPECT_EQ(requests[1].bytes, kMiB);
  EXPECT_EQ(requests[2].bytes, 1);
  EXPECT_EQ(requests[2].targets.front().memory.data(), pieces[0].memory.data() + 2 * kMiB);
}

TEST_F(RangePlanTest, JoinsNearPiecesInOrderOfOffset) {
  const std::vector<ReadPiece> pieces = {Piece(1000, 10), Piece(0, 100), Piece(kCoalesceGapBytes + 1010, 5)};
  const auto requests = PlanRanges(pieces, kMiB);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].offset, 0);
  EXPECT_EQ(requests[0].bytes, kCoalesceGapBytes + 1015);
  EXPECT_EQ(requests[0].targets.size(), 3u);
}

TEST_F(RangePlanTest, KeepsFarPiecesApart) {
  const std::vector<ReadPiece> pieces = {Piece(0, 100), Piece(101 + kCoalesceGapBytes, 5)};
  EXPECT_EQ(PlanRanges(pieces, kMiB).size(), 2u);
}

TEST_F(RangePlanTest, OverlappingPiecesAreFetchedTwice) {
  const std::vector<ReadPiece> pieces = {Piece(0, 100), Piece(50, 100)};
  EXPECT_EQ(PlanRanges(pieces, kMiB).size(), 2u);
}

TEST_F(RangePlanTest, EmptyPiecesNeedNothing) {
  const std::vector<ReadPiece> pieces = {Piece(7, 0)};
  EXPECT_TRUE(PlanRanges(pieces, kMiB).empty());
}

}  // namespace
}  // namespace assay::storage
