#include "shards/stream/fetch_cost.h"

#include <gtest/gtest.h>

namespace assay::shards {
namespace {

constexpr int64_t kShardBytes = int64_t{64} << 20;

TEST(FetchCost, FewSamplesOfALargeShardPayWhereBytesCostMoreThanWaits) {
  const FetchCost cost(StoreSpeed{.wait_seconds = 0.01, .bytes_per_second = 1e8});  // a shard takes 0.68 s
  EXPECT_TRUE(cost.SamplesPay(kShardBytes, 1000, 100, 6 << 20));
  EXPECT_FALSE(cost.SamplesPay(kShardBytes, 1000, 600, 38 << 20));         // half of it all
  EXPECT_FALSE(cost.SamplesPay(kShardBytes, 100'000'000, 1, 64 << 10));    // the table is larger than the shard
  EXPECT_FALSE(cost.SamplesPay(kShardBytes, 100'000, 10'000, 640 << 10));  // so many requests
  EXPECT_FALSE(cost.SamplesPay(1 << 19, 1000, 1, 512));
  const FetchCost near(StoreSpeed{.wait_seconds = 0.01, .bytes_per_second = 1e10});  // and here 17 ms
  EXPECT_FALSE(near.SamplesPay(kShardBytes, 1000, 1, 64 << 10));
}

TEST(FetchCost, IsMeasuredUnlessItIsKnown) {
  FetchCost measured({});
  FetchCost known(StoreSpeed{.wait_seconds = 1, .bytes_per_second = 1});
  for (int i = 0; i < 100; ++i) {
    for (FetchCost* cost : {&measured, &known}) {
      cost->Note(1000, 0.1);
      cost->Note(100'000'000, 2.1);
    }
  }
  EXPECT_NEAR(measured.speed().wait_seconds, 0.1, 1e-3);
  EXPECT_NEAR(measured.speed().bytes_per_second, 5e7, 1e6);
  EXPECT_EQ(known.speed().wait_seconds, 1);
  EXPECT_EQ(known.speed().bytes_per_second, 1);
}

}  // namespace
}  // namespace assay::shards
