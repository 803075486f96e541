#include "shards/order/partition.h"

#include <gmock/gmock.h>

#include <vector>

namespace assay::shards {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> Places(const PartitionSpec& spec) {
  const Partition partition = *Partition::Make(spec);
  std::vector<int64_t> samples;
  for (int64_t place = 0; place < partition.size(); ++place) {
    samples.push_back(partition.At(place));
  }
  return samples;
}

// Expected values: get_partitions_orig(...).transpose(3, 2, 0, 1, 4).flatten() of mosaicml-streaming 0.13.
TEST(Partition, TakesCanonicalNodesInTurn) {
  EXPECT_THAT(Places({.samples = 7, .canonical_nodes = 2, .world = {1, 2, 1}, .batch = 2}),
              ElementsAre(0, 1, 3, 4, 2, 2, 5, 6));
}

TEST(Partition, RepeatsSamplesSoThatRanksHaveAsMany) {
  EXPECT_THAT(Places({.samples = 5, .canonical_nodes = 1, .world = {1, 4, 1}, .batch = 1}),
              ElementsAre(0, 1, 2, 3, 4, 0, 1, 2));
  EXPECT_THAT(Places({.samples = 2, .canonical_nodes = 1, .world = {1, 5, 1}, .batch = 1}), ElementsAre(0, 1, 0, 1, 0));
}

TEST(Partition, DealsACanonicalNodeToSeveralMachines) {
  EXPECT_THAT(Places({.samples = 11, .canonical_nodes = 1, .world = {2, 1, 1}, .batch = 2}),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 9));
}

TEST(Partition, GivesAllSamplesAgainToMoreNodesThanSamples) {
  EXPECT_THAT(Places({.samples = 3, .canonical_nodes = 4, .world = {2, 1, 1}, .batch = 1}), ElementsAre(0, 1, 2, 0));
}

TEST(Partition, GoesOnBehindWhatWasDropped) {
  EXPECT_THAT(Places({.samples = 12, .canonical_nodes = 2, .world = {2, 1, 1}, .batch = 2, .drop_first = 5}),
              ElementsAre(2, 3, 8, 9, 4, 5, 10, 11));
}

TEST(Partition, PadsToWorkersTimesBatches) {
  EXPECT_THAT(Places({.samples = 3, .canonical_nodes = 1, .world = {1, 1, 2}, .batch = 2}), ElementsAre(0, 1, 2, -1));
}

TEST(Partition, IsEmptyBehindTheEnd) {
  EXPECT_THAT(Places({.samples = 5, .canonical_nodes = 1, .world = {1, 4, 1}, .batch = 1, .drop_first = 8}),
              testing::IsEmpty());
}

TEST(Partition, GoesOnAmongWhatCanonicalNodesRepeat) {
  const PartitionSpec spec{.samples = 10, .canonical_nodes = 3, .world = {}, .batch = 1};
  const std::vector<int64_t> whole = Places(spec);
  ASSERT_EQ(whole.size(), 12u);
  EXPECT_EQ(Partition::Make(spec)->dealt(), 12);
  for (int64_t dropped = 0; dropped <= 12; ++dropped) {
    PartitionSpec rest = spec;
    rest.drop_first = dropped;
    EXPECT_EQ(Places(rest), std::vector(whole.begin() + dropped, whole.end())) << dropped;
  }
}

TEST(Partition, KeepsGlobalBatchesWhoeverTakesThem) {
  const auto one = Places({.samples = 96, .canonical_nodes = 4, .world = {1, 1, 1}, .batch = 8});
  EXPECT_EQ(Places({.samples = 96, .canonical_nodes = 4, .world = {1, 1, 4}, .batch = 8}), one);
  // Ranks take the same eight in another order.
  for (const World world : {World{2, 2, 1}, World{4, 1, 1}, World{1, 8, 1}}) {
    auto other = Places({.samples = 96, .canonical_nodes = 4, .world = world, .batch = 8 / world.ranks()});
    ASSERT_EQ(other.size(), one.size());
    for (size_t batch = 0; batch < one.size(); batch += 8) {
      EXPECT_THAT(std::vector(other.begin() + batch, other.begin() + batch + 8),
                  testing::UnorderedElementsAreArray(one.begin() + batch, one.begin() + batch + 8));
    }
  }
}

TEST(Partition, NeedsNoMemoryForTrillions) {
  const int64_t samples = int64_t{1} << 31;
  const Partition partition =
      *Partition::Make({.samples = samples, .canonical_nodes = 128, .world = {64, 8, 8}, .batch = 32});
  EXPECT_EQ(partition.per_rank(), samples / 512);
  EXPECT_EQ(partition.At(0), 0);
  EXPECT_EQ(partition.At(32), samples / 2);  // the second rank begins 64 canonical nodes on
}

TEST(Partition, RefusesWhatDoesNotDivide) {
  const auto refusal = [](const PartitionSpec& spec) { return Partition::Make(spec).status().message(); };
  EXPECT_THAT(refusal({.samples = 9, .canonical_nodes = 3, .world = {2, 1, 1}}),
              HasSubstr("3 canonical nodes cannot be dealt to 2 nodes"));
  EXPECT_THAT(refusal({.samples = 9, .world = {}, .drop_first = 11}), HasSubstr("sample 11 of an epoch of 9"));
  EXPECT_THAT(refusal({.samples = 2, .canonical_nodes = 1, .world = {7, 1, 1}}), HasSubstr("2 samples are too few"));
}

}  // namespace
}  // namespace assay::shards
