#include "shards/order/epoch_order.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

namespace assay::shards {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

const std::vector<StreamShape> kTwoStreams = {{.name = "a", .shard_samples = {40, 30, 50}},
                                              {.name = "b", .shard_samples = {60, 20}}};

Result<EpochOrder> MakeOrder(const OrderSettings& settings, const World& world, const EpochPosition& position = {},
                             const std::vector<StreamShape>& streams = kTwoStreams) {
  auto resolved = ResolveOrder(settings, world);
  return resolved.ok() ? EpochOrder::Make(streams, *resolved, world, position) : resolved.status();
}

std::vector<int64_t> GlobalBatch(const EpochOrder& order, int64_t size, int64_t index) {
  std::vector<int64_t> samples;
  for (int64_t place = index * size; place < (index + 1) * size; ++place) {
    samples.push_back(order.At(place));
  }
  return samples;
}

TEST(EpochOrder, ShowsEachSampleOnce) {
  const EpochOrder order = *MakeOrder({.canonical_nodes = 2, .batch = 5}, {2, 2, 1});
  std::multiset<int64_t> seen;
  for (int64_t rank = 0; rank < 4; ++rank) {
    for (int64_t i = 0; i < order.per_rank(); ++i) {
      seen.insert(order.OfRank(rank, i));
    }
  }
  EXPECT_THAT(seen, SizeIs(200));
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 200u);
  EXPECT_EQ(order.epoch_size(), 200);
}

TEST(EpochOrder, AnotherNumberOfRanksGoesOnWithTheSameBatches) {
  const OrderSettings settings{.canonical_nodes = 4, .batch = 10};
  const EpochOrder whole = *MakeOrder(settings, {1, 2, 1});
  OrderSettings smaller = settings;
  smaller.batch = 5;
  const EpochOrder resumed = *MakeOrder(smaller, {4, 1, 1}, {.samples = 60, .initial_nodes = 1});
  for (int64_t batch = 0; batch < 7; ++batch) {
    EXPECT_THAT(GlobalBatch(resumed, 20, batch), testing::UnorderedElementsAreArray(GlobalBatch(whole, 20, batch + 3)));
  }
}

TEST(EpochOrder, NodesThatDoNotDivideGoOnAsTheFirstOnesWould) {
  const OrderSettings settings{.canonical_nodes = 2, .batch = 6};
  const EpochOrder whole = *MakeOrder(settings, {2, 1, 1});
  OrderSettings smaller = settings;
  smaller.batch = 4;
  const EpochOrder resumed = *MakeOrder(smaller, {3, 1, 1}, {.samples = 24, .initial_nodes = 2});
  for (int64_t batch = 0; batch < 10; ++batch) {
    EXPECT_EQ(GlobalBatch(resumed, 12, batch), GlobalBatch(whole, 12, batch + 2));
  }
  smaller.relaxed_partition = false;
  EXPECT_THAT(MakeOrder(smaller, {3, 1, 1}, {.samples = 24, .initial_nodes = 2}).status().message(),
              HasSubstr("2 canonical nodes cannot be dealt to 3 nodes"));
  smaller.relaxed_partition = true;
  smaller.batch = 3;
  EXPECT_THAT(MakeOrder(smaller, {3, 1, 1}, {.samples = 24, .initial_nodes = 2}).status().message(),
              HasSubstr("keep the global batch"));
}

TEST(EpochOrder, CanonicalNodesBeyondMeasureAreRefused) {
  for (const ShuffleAlgorithm shuffle : {ShuffleAlgorithm::kPy1s, ShuffleAlgorithm::kPy1br, ShuffleAlgorithm::kPy2s}) {
    EXPECT_THAT(MakeOrder({.shuffle = shuffle, .canonical_nodes = 1'000'000'000'000}, {1, 1, 1}).status().message(),
                HasSubstr("the number of canonical nodes is 1000000000000"));
  }
}

TEST(EpochOrder, BatchesKeepToTheirStreams) {
  const auto stream_of = [](int64_t sample) { return sample < 120 ? 0 : 1; };
  const World world{1, 2, 1};
  for (const Batching batching : {Batching::kPerStream, Batching::kDevicePerStream, Batching::kStratified}) {
    const EpochOrder order = *MakeOrder({.batch = 5, .batching = batching}, world);
    const int64_t of_one = batching == Batching::kDevicePerStream ? 5 : 10;
    for (int64_t batch = 0; batch < order.size() / of_one; ++batch) {
      std::vector<int> streams;
      for (const int64_t sample : GlobalBatch(order, of_one, batch)) {
        if (sample >= 0) {
          streams.push_back(stream_of(sample));
        }
      }
      if (batching == Batching::kStratified) {
        EXPECT_EQ(std::count(streams.begin(), streams.end(), 0), 6) << batch;
      } else if (!streams.empty()) {
        EXPECT_THAT(streams, Each(streams[0])) << NameOf(batching) << batch;
      }
    }
  }
}

TEST(EpochOrder, TakesOfEachStreamWhatItsWeightSays) {
  std::vector<StreamShape> streams = kTwoStreams;
  streams[0].weight.repeat = 0.5;
  streams[1].weight.choose = 100;
  const EpochOrder order = *MakeOrder({.batch = 4}, {}, {}, streams);
  std::vector<int64_t> counts(2);
  for (int64_t place = 0; place < order.size(); ++place) {
    ++counts[order.At(place) < 120 ? 0 : 1];
  }
  EXPECT_THAT(counts, testing::ElementsAre(60, 100));
}

TEST(EpochOrder, WithoutAShuffleTheOrderIsThatOfTheShards) {
  const EpochOrder order = *MakeOrder({.shuffle = std::nullopt, .batch = 4}, {});
  for (int64_t place = 0; place < 200; ++place) {
    EXPECT_EQ(order.At(place), place);
  }
}

TEST(EpochOrder, RefusesByName) {
  const auto refusal = [](const OrderSettings& settings, const std::vector<StreamShape>& streams) {
    return MakeOrder(settings, {}, {}, streams).status().message();
  };
  std::vector<StreamShape> streams = kTwoStreams;
  streams[0].weight.proportion = 0.5;
  EXPECT_THAT(refusal({}, streams), HasSubstr("stream 'b' has no proportion"));
  streams[0].weight.repeat = 1;
  EXPECT_THAT(refusal({}, streams), HasSubstr("'a': say one of proportion, repeat and choose"));
  EXPECT_THAT(refusal({}, {{.name = "c", .shard_samples = {0}}}), HasSubstr("stream 'c' has no samples"));
  EXPECT_THAT(refusal({.batch = 0}, kTwoStreams), HasSubstr("the batch is 0"));
  EXPECT_THAT(refusal({.batch = 300, .batching = Batching::kPerStream}, kTwoStreams),
              HasSubstr("stream 'a' has too few samples for one global batch of 300"));
  EXPECT_THAT(refusal({.batch = 1, .batching = Batching::kStratified}, kTwoStreams),
              HasSubstr("stream 'b' has no sample in a global batch of 1"));
  EXPECT_THAT(ParseBatching("stream").status().message(), HasSubstr("device_per_stream"));
}

}  // namespace
}  // namespace assay::shards
