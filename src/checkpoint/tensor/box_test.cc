#include "checkpoint/tensor/box.h"

#include <gmock/gmock.h>

#include <numeric>

namespace assay::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Elements, TellsWhatDoesNotFit) {
  EXPECT_EQ(Elements({}), 1);
  EXPECT_EQ(Elements({3, 0, 5}), 0);
  EXPECT_EQ(Elements({2, 3, 4}), 24);
  EXPECT_EQ(Elements({int64_t{1} << 62, 4}), std::nullopt);
  EXPECT_EQ(Elements({-1}), std::nullopt);
  EXPECT_EQ(Elements({0, int64_t{1} << 62, 4}), std::nullopt) << "an empty tensor of an impossible shape";
}

TEST(LiesWithin, NeedsAllOfTheBox) {
  EXPECT_TRUE(LiesWithin({{1, 0}, {2, 3}}, {3, 3}));
  EXPECT_TRUE(LiesWithin({{3}, {0}}, {3})) << "the empty part of the last rank";
  EXPECT_FALSE(LiesWithin({{2, 0}, {2, 3}}, {3, 3}));
  EXPECT_FALSE(LiesWithin({{1}, {1}}, {3, 3}));
  EXPECT_FALSE(LiesWithin({{int64_t{1} << 62}, {int64_t{1} << 62}}, {5}));
}

TEST(Intersect, IsWhatBothHave) {
  EXPECT_EQ(Intersect({{0, 0}, {4, 4}}, {{2, 3}, {4, 4}}), (Box{{2, 3}, {2, 1}}));
  EXPECT_EQ(Intersect({{0, 0}, {2, 4}}, {{2, 0}, {2, 4}}), std::nullopt);
  EXPECT_EQ(Intersect({{}, {}}, {{}, {}}), (Box{{}, {}}));
}

TEST(BoxesOfFlatRange, AreInOrderAndNoMoreThanNeeded) {
  EXPECT_THAT(BoxesOfFlatRange({4, 5}, 0, 20), ElementsAre(Box{{0, 0}, {4, 5}}));
  EXPECT_THAT(BoxesOfFlatRange({4, 5}, 3, 13),
              ElementsAre(Box{{0, 3}, {1, 2}}, Box{{1, 0}, {2, 5}}, Box{{3, 0}, {1, 1}}));
  EXPECT_THAT(BoxesOfFlatRange({4, 5}, 6, 2), ElementsAre(Box{{1, 1}, {1, 2}}));
  EXPECT_THAT(BoxesOfFlatRange({7}, 2, 3), ElementsAre(Box{{2}, {3}}));
  EXPECT_THAT(BoxesOfFlatRange({}, 0, 1), ElementsAre(Box{{}, {}}));
  EXPECT_THAT(BoxesOfFlatRange({3, 0}, 0, 0), IsEmpty());
}

TEST(BoxesOfFlatRange, CoverEveryRangeOfACube) {
  const Sizes shape = {3, 4, 5};
  const Sizes strides = ContiguousStrides(shape);
  for (int64_t begin = 0; begin < 60; ++begin) {
    for (int64_t count = 1; begin + count <= 60; ++count) {
      int64_t next = begin;
      const std::vector<Box> boxes = BoxesOfFlatRange(shape, begin, count);
      EXPECT_LE(boxes.size(), 5u);
      for (const Box& box : boxes) {
        ASSERT_TRUE(LiesWithin(box, shape));
        const int64_t first = std::inner_product(box.offsets.begin(), box.offsets.end(), strides.begin(), int64_t{0});
        ASSERT_EQ(first, next);
        RunIterator runs(box.sizes, strides, ContiguousStrides(box.sizes));
        ASSERT_EQ(runs.run_elements(), Count(box.sizes)) << "a box is one run of memory";
        next += Count(box.sizes);
      }
      ASSERT_EQ(next, begin + count);
    }
  }
}

TEST(RunIterator, JoinsWhatLiesTogether) {
  RunIterator whole({2, 3, 4}, {12, 4, 1}, {12, 4, 1});
  EXPECT_EQ(whole.run_elements(), 24);
  RunIterator columns({3, 2}, {4, 1}, {2, 1});
  checkpoint::Run run;
  std::vector<std::pair<int64_t, int64_t>> met;
  while (columns.Next(run)) {
    EXPECT_EQ(run.count, 2);
    met.emplace_back(run.from, run.to);
  }
  EXPECT_THAT(met, ElementsAre(std::pair(0, 0), std::pair(4, 2), std::pair(8, 4)));
}

TEST(RunIterator, FollowsTransposedMemory) {
  RunIterator transposed({2, 3}, {1, 2}, {3, 1});
  checkpoint::Run run;
  std::vector<int64_t> from;
  while (transposed.Next(run)) {
    from.push_back(run.from);
  }
  EXPECT_THAT(from, ElementsAre(0, 2, 4, 1, 3, 5));
  RunIterator empty({2, 0}, {1, 1}, {1, 1});
  EXPECT_FALSE(empty.Next(run));
}

}  // namespace
}  // namespace assay::checkpoint
