#include "storage/transfer/part_plan.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace assay::storage {
namespace {

TEST(PartPlanTest, SmallObjectsAreOnePart) {
  const auto plan = PlanUpload(0, {}, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->parts, 1);
  EXPECT_EQ(plan->connections, 1);
}

TEST(PartPlanTest, OneRequestTakes32MiBUnlessPartsHaveASize) {
  EXPECT_EQ(PlanUpload(32 * kMiB, {}, {})->parts, 1);
  EXPECT_EQ(PlanUpload(32 * kMiB + 1, {}, {})->parts, 5);
  EXPECT_EQ(PlanUpload(32 * kMiB + 1, {}, {})->part_bytes, 8 * kMiB);
  StoreOptions options;
  options.part_bytes = 8 * kMiB;
  EXPECT_EQ(PlanUpload(32 * kMiB, options, {})->parts, 4);
  DialectTraits traits;
  traits.max_part_bytes = 20 * kMiB;
  EXPECT_EQ(PlanUpload(32 * kMiB, {}, traits)->parts, 4);
}

TEST(PartPlanTest, PartsGrowWithTheObject) {
  const auto plan = PlanUpload(200 * 1024 * kMiB, {}, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->part_bytes, 32 * kMiB);
  EXPECT_LE(plan->parts, 10000);
  EXPECT_EQ(plan->connections, kDefaultConnections);
}

TEST(PartPlanTest, TheUserAndTheStoreAreObeyed) {
  StoreOptions options;
  options.part_bytes = kMiB;
  options.connections = 3;
  DialectTraits traits;
  traits.part_multiple_bytes = 3 * kMiB;
  const auto plan = PlanUpload(100 * kMiB, options, traits);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->part_bytes, 6 * kMiB);
  EXPECT_EQ(plan->connections, 3);
}

TEST(PartPlanTest, WhatFitsNowhereIsRefused) {
  DialectTraits traits;
  traits.max_part_bytes = 16 * kMiB;
  traits.max_parts = 2;
  EXPECT_EQ(PlanUpload(33 * kMiB, {}, traits).status().code(), ErrorCode::kInvalidArgument);
}

TEST(PartPlanTest, StreamsReachTheLargestObjectWithinTheBudget) {
  const DialectTraits traits;
  // S3's largest object has 5 TiB.
  for (const auto& [budget, most] :
       {std::pair(256 * kMiB, 867 * 1024 * kMiB), std::pair(3500 * kMiB, 5 * 1024 * 1024 * kMiB)}) {
    StoreOptions options;
    options.memory_budget_bytes = budget;
    int64_t total = 0;
    for (int64_t number = 1; number <= traits.max_parts; ++number) {
      const int64_t bytes = StreamPartBytes(number, options, traits);
      ASSERT_LE(bytes, budget / 2);
      total += bytes;
    }
    EXPECT_EQ(StreamPartBytes(1, options, traits), kDefaultPartBytes);
    EXPECT_GE(total, most);
  }
}

}  // namespace
}  // namespace assay::storage
