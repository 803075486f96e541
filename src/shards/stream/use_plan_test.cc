#include "shards/stream/use_plan.h"

#include <gmock/gmock.h>

namespace assay::shards {
namespace {

std::vector<StreamSource> Sources(std::vector<std::vector<int64_t>> samples) {
  std::vector<StreamSource> sources;
  for (const std::vector<int64_t>& of_source : samples) {
    StreamSource& source = sources.emplace_back();
    for (const int64_t count : of_source) {
      source.dataset.index.shards.push_back({.schema = {}, .samples = count});
    }
  }
  return sources;
}

TEST(ShardTable, FindsEverySample) {
  const std::vector<StreamSource> sources = Sources({{3, 0, 2000}, {1, 5000}});
  const ShardTable table(sources);
  ASSERT_EQ(table.samples(), 7004);
  int64_t sample = 0;
  for (uint32_t shard = 0; shard < table.size(); ++shard) {
    const ShardTable::Shard& at = table.shard(shard);
    for (uint32_t i = 0; i < sources[at.source].dataset.index.shards[at.number].samples; ++i, ++sample) {
      EXPECT_EQ(table.PlaceOf(sample).shard, shard);
      EXPECT_EQ(table.PlaceOf(sample).index, i);
    }
  }
}

TEST(UsePlan, KnowsTheNextUseOfEachShard) {
  const std::vector<StreamSource> sources = Sources({{2, 2, 2}});
  const ShardTable table(sources);
  const std::vector<int64_t> order = {4, 0, 5, -1, 2, 1, 3};
  UsePlan plan(table, [&](int64_t k) { return order[static_cast<size_t>(k)]; }, 7, 4);
  plan.Extend(100);
  EXPECT_EQ(plan.end(), 4);
  EXPECT_EQ(plan.NextUse(2), 0);
  EXPECT_EQ(plan.NextUse(0), 1);
  EXPECT_EQ(plan.NextUse(1), UsePlan::kNever);
  plan.Pop();
  EXPECT_EQ(plan.NextUse(2), 2);
  plan.Extend(1);
  EXPECT_EQ(plan.NextUse(1), 4);
  for (int i = 0; i < 3; ++i) {
    plan.Pop();
    plan.Extend(100);
  }
  EXPECT_EQ(plan.NextUse(2), UsePlan::kNever);
  EXPECT_EQ(plan.NextUse(0), 5);
  EXPECT_EQ(plan.end(), 7);
}

}  // namespace
}  // namespace assay::shards
