#include "explore/search/walk_sampler.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

namespace assay::explore {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// 2 x 3 entities, a number of experiments.
Grid Points(int64_t experiments = 1) {
  return Grid({{.size = 2}, {.size = 3}, {.size = experiments}});
}

std::vector<int64_t> AllOf(WalkSampler sampler) {
  std::vector<int64_t> positions;
  while (const auto position = sampler.Next()) {
    positions.push_back(*position);
  }
  return positions;
}

TEST(WalkSamplerTest, InOrderAnEntityHasAllItsExperimentsBeforeTheNext) {
  EXPECT_THAT(AllOf(WalkSampler(Points(2), {.left_out = {1, 2, 4}}, 1)), ElementsAre(0, 1, 6, 7, 10, 11));
}

TEST(WalkSamplerTest, AtRandomEachEntityComesOnceAsTheSeedHasIt) {
  const std::vector<int64_t> order = AllOf(WalkSampler(Points(), {.random = true}, 3));
  EXPECT_THAT(order, UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(order, AllOf(WalkSampler(Points(), {.random = true}, 3)));
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    orders.insert(AllOf(WalkSampler(Points(), {.random = true}, seed)));
  }
  EXPECT_GT(std::ssize(orders), 10);
}

TEST(WalkSamplerTest, GroupsFollowEachOtherWithTheirMembersInOrder) {
  EXPECT_THAT(AllOf(WalkSampler(Points(), {.grouped_by = {1}}, 1)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(AllOf(WalkSampler(Points(), {.grouped_by = {0}}, 1)), ElementsAre(0, 1, 2, 3, 4, 5));
  // In the order of the space's properties, whichever is named first.
  EXPECT_THAT(AllOf(WalkSampler(Points(), {.grouped_by = {1, 0}}, 1)), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(WalkSamplerTest, GroupsAtRandomStayWhole) {
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<int64_t> order = AllOf(WalkSampler(Points(), {.random = true, .grouped_by = {1}}, seed));
    ASSERT_THAT(order, SizeIs(6));
    for (size_t i = 0; i < 6; i += 2) {
      EXPECT_EQ(order[i + 1], order[i] + 3);
    }
    orders.insert(order);
  }
  EXPECT_EQ(std::ssize(orders), 6);  // all orders of three groups
}

TEST(WalkSamplerTest, OfListedEntitiesTheGroupsAreThoseThatHaveOne) {
  EXPECT_THAT(AllOf(WalkSampler(Points(2), {.grouped_by = {1}, .entities = {{0, 1, 3, 4}}}, 1)),
              ElementsAre(0, 1, 6, 7, 2, 3, 8, 9));
  EXPECT_THAT(AllOf(WalkSampler(Points(), {.random = true, .entities = {{1, 5}}}, 1)), UnorderedElementsAre(1, 5));
  EXPECT_THAT(AllOf(WalkSampler(Points(), {.entities = {std::vector<int64_t>()}}, 1)), IsEmpty());
}

TEST(WalkSamplerTest, ASpaceOfAnySizeIsWalkedPointByPoint) {
  const Grid huge({{.size = int64_t{1} << 20}, {.size = int64_t{1} << 20}, {.size = int64_t{1} << 19}, {.size = 2}});
  WalkSampler grouped(huge, {.random = true, .grouped_by = {1}}, 1);
  const int64_t first = grouped.Next().value();
  EXPECT_EQ(grouped.Next(), first + 1);  // its second experiment
  EXPECT_EQ(grouped.Next(), first + 2);  // the next member, whose last property differs
}

}  // namespace
}  // namespace assay::explore
