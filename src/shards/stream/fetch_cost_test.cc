#include "shards/stream/fetch_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

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

TEST(FetchCost, WhatLiesBetweenNearSamplesIsCounted) {
  const FetchCost cost(StoreSpeed{.wait_seconds = 1e-6, .bytes_per_second = 1e8});
  EXPECT_TRUE(cost.SamplesPay(kShardBytes, 8192, 100, 800 << 10));   // 640 KiB from one to the next
  EXPECT_FALSE(cost.SamplesPay(kShardBytes, 8192, 2048, 16 << 20));  // 24 KiB: all of them are fetched
}

TEST(FetchCost, IsMeasuredUnlessItIsKnown) {
  FetchCost measured({});
  FetchCost known(StoreSpeed{.wait_seconds = 1, .bytes_per_second = 1});
  for (int i = 0; i < 100; ++i) {
    for (FetchCost* cost : {&measured, &known}) {
      cost->NoteRequest(100'000, 0.102);
      cost->NoteShard(100'000'000, 2.1);
    }
  }
  EXPECT_NEAR(measured.speed().wait_seconds, 0.1, 1e-3);
  EXPECT_NEAR(measured.speed().bytes_per_second, 5e7, 1e6);
  EXPECT_EQ(known.speed().wait_seconds, 1);
  EXPECT_EQ(known.speed().bytes_per_second, 1);
}

TEST(FetchCost, WholeShardsTellTheSpeedFirst) {
  FetchCost cost({});
  EXPECT_FALSE(cost.SamplesPay(kShardBytes, 1000, 10, 640 << 10));
  cost.NoteShard(kShardBytes, 0.5);
  EXPECT_FALSE(cost.SamplesPay(kShardBytes, 1000, 10, 640 << 10));
  cost.NoteShard(kShardBytes, 0.5);
  EXPECT_TRUE(cost.SamplesPay(kShardBytes, 1000, 10, 640 << 10));
}

/// How many of 60 shards are fetched by samples from a store that reads in so long, the first whole one in `first`
/// times as long, and how long it takes beside whole shards.
std::pair<int, double> FetchSixty(const StoreSpeed& store, int64_t samples, double first = 1) {
  constexpr int64_t kSamples = 6000;
  constexpr int64_t kSampleBytes = kShardBytes / kSamples;
  FetchCost cost({});
  const double whole = store.wait_seconds + kShardBytes / store.bytes_per_second;
  const double table = store.wait_seconds + kSamples * 16 / store.bytes_per_second;
  const double some = std::ceil(static_cast<double>(samples) / 16) * store.wait_seconds +
                      static_cast<double>(samples * kSampleBytes) / store.bytes_per_second;
  int by_samples = 0;
  double seconds = 0;
  for (int shard = 0; shard < 60; ++shard) {
    if (cost.SamplesPay(kShardBytes, kSamples, samples, samples * kSampleBytes)) {
      cost.NoteRequest(kSamples * 16, table);
      seconds += table + some;
      ++by_samples;
    } else {
      cost.NoteShard(kShardBytes, shard == 0 ? first * whole : whole);
      seconds += whole;
    }
  }
  return {by_samples, seconds / (60 * whole)};
}

TEST(FetchCost, LearnsWhichIsQuickerFromEither) {
  for (const StoreSpeed& store : {StoreSpeed{0.2, 2e8}, StoreSpeed{0.05, 5e8}, StoreSpeed{0.02, 1e9}}) {
    const auto [by_samples, seconds] = FetchSixty(store, 100);
    EXPECT_LE(by_samples, 10) << store.wait_seconds;
    EXPECT_LT(seconds, 1.2) << store.wait_seconds;
  }
  const auto [by_samples, seconds] = FetchSixty({0.005, 5e7}, 100);
  EXPECT_EQ(by_samples, 58);
  EXPECT_LT(seconds, 0.1);
}

TEST(FetchCost, OneSlowShardAtTheBeginningMisleadsNobody) {
  const auto [by_samples, seconds] = FetchSixty({0.02, 1e9}, 100, 20);
  EXPECT_LE(by_samples, 10);
  EXPECT_LT(seconds, 1.2);
}

}  // namespace
}  // namespace assay::shards
