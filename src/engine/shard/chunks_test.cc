// How parameters lie in chunks, and when chunks are there.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "engine/comm/local_communicator.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_training.h"
#include "engine/shard/unit_placement.h"

namespace assay::engine {
namespace {

using ::testing::ElementsAre;
using testing::TestModel;
using testing::TestModelOptions;

/// Units of float32 parameters with so many elements each.
class Units {
 public:
  explicit Units(const std::vector<std::vector<int64_t>>& elements) {
    for (const std::vector<int64_t>& unit : elements) {
      units_.push_back({"unit", {}, {}});
      for (const int64_t size : unit) {
        tensors_.push_back(at::empty({size}, c10::kMeta).requires_grad_());
        units_.back().parameters.push_back({std::to_string(tensors_.size() - 1), &tensors_.back()});
      }
    }
  }

  std::vector<ParameterUnit>& units() { return units_; }
  at::Tensor& tensor(size_t number) { return tensors_[number]; }

 private:
  std::deque<at::Tensor> tensors_;
  std::vector<ParameterUnit> units_;
};

std::vector<std::string> names_of(const StoredUnit& chunk) {
  std::vector<std::string> names;
  for (const ParameterRef& p : chunk.parameters) {
    names.push_back(p.name);
  }
  return names;
}

ShardContext context_of(const ChunkSearch& chunks) {
  ShardContext context;
  context.policy = shard_policy("gemini");
  context.policy.chunks = chunks;
  return context;
}

const ChunkSearch kOf128{.min_elements = 128, .range = 0, .step = 32};

TEST(StoredUnits, FillChunksInOrderAcrossUnits) {
  Units model({{64, 32}, {64, 32, 10}, {128}});
  const StoredUnits stored = store_units(context_of(kOf128), model.units());
  ASSERT_EQ(stored.units.size(), 3);
  EXPECT_THAT(names_of(stored.units[0]), ElementsAre("0", "1"));
  EXPECT_THAT(names_of(stored.units[1]), ElementsAre("2", "3", "4")) << "10 elements take 32";
  EXPECT_THAT(names_of(stored.units[2]), ElementsAre("5"));
  for (const StoredUnit& chunk : stored.units) {
    EXPECT_EQ(chunk.elements, 128);
    EXPECT_FALSE(chunk.keep_gathered);
  }
  EXPECT_THAT(stored.reads, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(StoredUnits, AUnitReadsEveryChunkWithItsParameters) {
  Units model({{96}, {32, 96, 64}, {32}});
  const StoredUnits stored = store_units(context_of(kOf128), model.units());
  EXPECT_THAT(stored.reads, ElementsAre(ElementsAre(0), ElementsAre(0, 1, 2), ElementsAre(2)));
  EXPECT_THAT(stored.units[0].readers, ElementsAre(0, 1));
  EXPECT_THAT(stored.units[1].readers, ElementsAre(1));
}

TEST(StoredUnits, AParameterLargerThanAChunkHasItsOwn) {
  Units model({std::vector<int64_t>(20, 64), {4096}, std::vector<int64_t>(20, 64)});
  const StoredUnits stored = store_units(context_of(kOf128), model.units());
  ASSERT_EQ(stored.units.size(), 21);
  EXPECT_THAT(names_of(stored.units[10]), ElementsAre("20"));
  EXPECT_EQ(stored.units[10].elements, 0);
  EXPECT_EQ(stored.units[11].elements, 128);
}

TEST(StoredUnits, KindsHaveChunksOfTheirOwnAndSmallOnesStayGathered) {
  Units model({{64, 32}, {64, 128}, {128}});
  model.tensor(1).requires_grad_(false);
  const StoredUnits stored = store_units(context_of(kOf128), model.units());
  EXPECT_THAT(names_of(stored.units.front()), ElementsAre("0", "2"));
  EXPECT_THAT(names_of(stored.units[1]), ElementsAre("1"));
  EXPECT_TRUE(stored.units[1].keep_gathered);
  EXPECT_EQ(stored.units[1].elements, 0);
  EXPECT_FALSE(stored.units.front().keep_gathered);
}

TEST(StoredUnits, WhoReadsAnotherUnitReadsItsChunks) {
  Units model({{96}, {128}, {32}});
  model.units()[2].also_uses = {0};
  const StoredUnits stored = store_units(context_of(kOf128), model.units());
  EXPECT_THAT(stored.reads, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2, 0)));
  EXPECT_THAT(stored.units[0].readers, ElementsAre(0, 2));
  EXPECT_TRUE(stored.units[0].shared);
  EXPECT_FALSE(stored.units[2].shared);
}

TEST(UnitPlacement, FractionsAreReachedInWholeChunks) {
  Units model({{128}, {128}, {128}, {128}});
  ShardContext context = context_of(kOf128);
  const StoredUnits stored = store_units(context, model.units());
  const auto chosen = [&](double ShardPolicy::* fraction, double value, bool UnitPlacement::* choice) {
    ShardPolicy policy;
    policy.keep_weights = false;
    policy.memory_cap_bytes = 1;
    policy.*fraction = value;
    std::vector<bool> result;
    for (const UnitPlacement& placement : place_units(policy, stored.units)) {
      result.push_back(placement.*choice);
    }
    return result;
  };
  for (const auto& [fraction, choice] : {std::pair{&ShardPolicy::offload_optim_frac, &UnitPlacement::offload_optimizer},
                                         {&ShardPolicy::offload_param_frac, &UnitPlacement::offload_parameters},
                                         {&ShardPolicy::yielding_optim_frac, &UnitPlacement::optimizer_yields}}) {
    EXPECT_THAT(chosen(fraction, 0, choice), ElementsAre(false, false, false, false));
    EXPECT_THAT(chosen(fraction, 0.3, choice), ElementsAre(true, true, false, false)) << "no less than asked for";
    EXPECT_THAT(chosen(fraction, 0.5, choice), ElementsAre(true, true, false, false));
    EXPECT_THAT(chosen(fraction, 1, choice), ElementsAre(true, true, true, true));
  }
  const auto kept = [&](double value) {
    return chosen(&ShardPolicy::keep_gathered_frac, value, &UnitPlacement::keep_gathered);
  };
  EXPECT_THAT(kept(0.3), ElementsAre(true, false, false, false)) << "no more than asked for";
  EXPECT_THAT(kept(0.5), ElementsAre(true, true, false, false));
}

TEST(UnitPlacement, OfASmallChunkNothingIsInHostMemory) {
  Units model(std::vector<std::vector<int64_t>>{{64}});
  const ShardContext context = context_of(kOf128);
  ASSERT_EQ(context.policy.offload_optim_frac, 1);
  const UnitPlacement placement = place_units(context.policy, store_units(context, model.units()).units).front();
  EXPECT_TRUE(placement.keep_gathered);
  EXPECT_FALSE(placement.offload_optimizer);
}

/// Gathers of a step on rank 0 of two.
int64_t gathers(const ShardPolicy& policy) {
  const TestModelOptions options{.layers = 6, .tied = false};
  const auto group = make_fake_communicator({.rank = 0, .size = 2});
  TestModel model(options);
  ShardEngine engine(model, policy, {.shard = group.get()}, testing::kOptimizer);
  const auto batch = testing::test_batch(options, 0, 0);
  group->reset_stats();
  engine.backward(model.loss(batch.ids_T, batch.targets_T));
  for (const CollectiveStats& stats : group->stats()) {
    if (stats.kind == "all_gather") {
      return stats.calls;
    }
  }
  return 0;
}

TEST(Chunks, AreGatheredOnceAPassAndTheLastOnceAStep) {
  ShardPolicy policy = with_precision(shard_policy("gemini"), "fp32");
  for (const int64_t elements : {1200, 3000, 8000}) {
    policy.chunks = ChunkSearch{.min_elements = elements, .range = 0, .step = 32};
    TestModel model({.layers = 6, .tied = false});
    const auto chunks = static_cast<int64_t>(ShardEngine(model, policy, {}, testing::kOptimizer).units().size());
    ASSERT_GT(chunks, 2) << elements;
    for (const int64_t prefetch : {0, 1, 3}) {
      policy.prefetch = prefetch;
      const int64_t calls = gathers(policy);
      // All that the last unit reads stays from forward to backward.
      EXPECT_LE(calls, 2 * chunks - 1) << elements << ", " << prefetch;
      EXPECT_GE(calls, 2 * chunks - 3) << elements << ", " << prefetch;
    }
  }
  policy.chunks.emplace();
  EXPECT_EQ(gathers(policy), 0) << "everything is in one small chunk, which stays";
}

}  // namespace
}  // namespace assay::engine
