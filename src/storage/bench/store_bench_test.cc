#include "storage/bench/store_bench.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>

#include "storage/bench/mixed_work.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

using Work = StoreBenchPlan::Work;

class StoreBenchTest : public testing::TestWithParam<Work> {};

TEST_P(StoreBenchTest, MeasuresEveryRepeatAndLeavesNothing) {
  MemoryStore store("bench");
  StoreBenchPlan plan;
  plan.work = GetParam();
  plan.object_bytes = 100'000;
  plan.objects = plan.work == Work::kObjects ? 5 : 1;
  plan.repeats = 2;
  const auto rows = RunStoreBench(store, plan);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2U);
  for (const StoreBenchRow& row : *rows) {
    EXPECT_EQ(row.seconds.size(), 2U);
    EXPECT_EQ(row.cpu_seconds.size(), 2U);
    EXPECT_EQ(row.bytes, 100'000 * plan.objects);
  }
  EXPECT_TRUE(store.List({})->objects.empty());
}

INSTANTIATE_TEST_SUITE_P(All, StoreBenchTest, testing::Values(Work::kObject, Work::kObjects, Work::kTensors));

TEST(MixedWorkTest, FindsNothingWrongWithAStoreThatIsRight) {
  MemoryStore store("mixed");
  MixedPlan plan;
  plan.operations = 800;
  plan.large_bytes = 100'000;
  plan.lists_lag = false;
  const auto result = RunMixedWork(store, plan);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->wrong, 0) << testing::PrintToString(result->first_wrong);
  EXPECT_EQ(result->errors, 0) << result->first_error;
  EXPECT_GE(result->right, 800);
  EXPECT_TRUE(store.List({})->objects.empty());
}

/// Loses one write of many without a word.
class ForgetfulStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                           const WriteOptions& options) override {
    return ++writes_ % 50 == 0 ? Result<ObjectInfo>(ObjectInfo{}) : ForwardingStore::Write(key, buffers, options);
  }

 private:
  std::atomic<int> writes_ = 0;
};

TEST(MixedWorkTest, NoticesAWriteThatWasLost) {
  ForgetfulStore store(std::make_shared<MemoryStore>("forgetful"));
  MixedPlan plan;
  plan.operations = 2000;
  plan.large_bytes = 100'000;
  EXPECT_GT(RunMixedWork(store, plan)->wrong, 0);
}

/// Flips a bit of each tenth object that is read among many.
class FlippingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override {
    std::vector<Status> statuses = ForwardingStore::ReadMany(reads, options);
    for (const ObjectRead& read : reads) {
      read.piece.memory[5] ^= std::byte{++reads_ % 10 == 0};
    }
    return statuses;
  }

 private:
  std::atomic<int> reads_ = 0;
};

TEST(MixedWorkTest, TellsAFewOutcomesAndHowTheyDiffer) {
  FlippingStore store(std::make_shared<MemoryStore>("flipping"));
  MixedPlan plan;
  plan.operations = 2000;
  plan.large_bytes = 100'000;
  const auto result = RunMixedWork(store, plan);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->wrong, 8);
  ASSERT_THAT(result->first_wrong, testing::SizeIs(8));
  EXPECT_THAT(result->first_wrong, testing::Each(testing::ContainsRegex(
                                       "was read among many, and other bytes came: 1 of [0-9]+ bytes differ, from byte "
                                       "5 on$")));
}

TEST(MixedWorkTest, BelievesTheTruthAndNotTheStore) {
  MemoryStore store("false");
  MixedPlan plan;
  plan.operations = 80;
  plan.truth = [](const std::string&) { return std::optional<std::string>("never written"); };
  EXPECT_GT(RunMixedWork(store, plan)->wrong, 0);
}

}  // namespace
}  // namespace assay::storage
