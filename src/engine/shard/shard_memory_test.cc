#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/comm/local_communicator.h"
#include "engine/kernels/memory.h"
#include "engine/model/status_error.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::kOptimizer;
using testing::test_batch;
using testing::TestModel;
using testing::TestModelOptions;

// Before any tensor of the tests exists.
const bool kInstalled = [] {
  InstallCountingAllocator();
  return true;
}();

const TestModelOptions kModel{.layers = 6, .hidden = 64, .vocabulary = 50};
constexpr int kMemoryRanks = 4;
constexpr int64_t kChunk = 40000;  // elements; a layer has 24704

/// Rank 1 of four that are not there: of two groups of two where the policy has groups.
struct LonelyRank {
  std::unique_ptr<Communicator> shard;
  std::unique_ptr<Communicator> replicate;
  ShardGroups groups;

  explicit LonelyRank(SplitOver split) {
    const int shard_ranks = split == SplitOver::kNobody ? 1 : split == SplitOver::kAll ? kMemoryRanks : 2;
    shard = make_fake_communicator({.rank = shard_ranks > 1 ? 1 : 0, .size = shard_ranks});
    replicate = make_fake_communicator({.rank = 0, .size = kMemoryRanks / shard_ranks});
    groups = {shard.get(), replicate.get()};
  }
};

void train_step(TestModel& model, ShardEngine& engine, const TestModelOptions& options, int passes = 1,
                bool no_sync = false) {
  const auto batch = test_batch(options, 0, 0);
  for (int pass = 1; pass <= passes; ++pass) {
    engine.backward(model.loss(batch.ids_T, batch.targets_T), pass == passes, no_sync);
  }
  engine.step(1e-3);
  engine.last_step();
}

/// What absent ranks would have sent is NaN, not whatever lies in memory: that could be out of float's range.
class DefinedMemory {
 protected:
  DefinedMemory() { set(true); }
  ~DefinedMemory() { set(false); }

 private:
  static void set(bool on) {
    at::globalContext().setDeterministicAlgorithms(on, /*warn_only=*/true);
    at::globalContext().setDeterministicFillUninitializedMemory(on);
  }
};

class MemoryOfStrategies : public ::testing::Test, DefinedMemory {};

class Memory : DefinedMemory, public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  static ShardPolicy policy() {
    return with_precision(testing::small_policy(std::get<0>(GetParam()), kChunk), std::get<1>(GetParam()));
  }
};

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const ShardStrategy& strategy : shard_strategies()) {
    names.emplace_back(strategy.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(
    Shard, Memory, ::testing::Combine(::testing::ValuesIn(strategy_names()), ::testing::Values("fp32", "bf16", "fp8")),
    [](const auto& info) { return fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param)); });

TEST_P(Memory, LedgerIsWhatTheAllocatorCounts) {
  LonelyRank rank(policy().split);
  const int64_t base = LiveTensorBytes();
  TestModel model(kModel);
  ShardEngine engine(model, policy(), rank.groups, kOptimizer);
  const auto counted = [&] { return LiveTensorBytes() - base - engine.ledger().live(MemoryKind::kOffloaded); };
  EXPECT_EQ(engine.ledger().live_total(), counted()) << "after the start";
  for (int step = 0; step < 2; ++step) {
    train_step(model, engine, kModel);
    EXPECT_EQ(engine.ledger().live_total(), counted()) << "after step " << step;
  }
}

void expect_foretold(const ShardPolicy& policy, int passes, bool no_sync) {
  LonelyRank rank(policy.split);
  TestModel model(kModel);
  ShardEngine engine(model, policy, rank.groups, kOptimizer);
  LonelyRank fake(policy.split);
  TestModelOptions on_meta = kModel;
  on_meta.device = c10::kMeta;
  const auto beside_the_engine = [&engine] {
    return LiveTensorBytes() - engine.ledger().live_total() - engine.ledger().live(MemoryKind::kOffloaded);
  };
  const int64_t base = beside_the_engine();
  TestModel shapes(on_meta);
  ShardEngine forecast(shapes, policy, fake.groups, kOptimizer);
  EXPECT_EQ(forecast.ledger().peak().total, engine.ledger().peak().total) << "of the start";
  for (int step = 0; step < 2; ++step) {
    engine.ledger().reset_peak();
    forecast.ledger().reset_peak();
    train_step(model, engine, kModel, passes, no_sync);
    forecast.rehearse_step(no_sync);
    EXPECT_EQ(forecast.ledger().peak().by_kind, engine.ledger().peak().by_kind) << "of step " << step;
  }
  EXPECT_LT(beside_the_engine() - base, 1 << 12) << "nothing is there";
}

TEST_P(Memory, IsForetoldWithoutComputing) {
  expect_foretold(policy(), 1, false);
}

TEST_P(Memory, OfSeveralBackwardsIsForetold) {
  ShardPolicy accumulating = policy();
  accumulating.several_backwards = true;
  for (const bool no_sync : {false, true}) {
    SCOPED_TRACE(no_sync ? "reduced once" : "reduced each time");
    expect_foretold(accumulating, 3, no_sync);
  }
}

int64_t peak_of_weights(const ShardPolicy& policy) {
  LonelyRank rank(policy.split);
  TestModel model(kModel);
  ShardEngine engine(model, policy, rank.groups, kOptimizer);
  engine.ledger().reset_peak();
  train_step(model, engine, kModel);
  return engine.ledger().peak().by_kind[static_cast<size_t>(MemoryKind::kParameters)];
}

TEST_F(MemoryOfStrategies, FullShardHoldsAFewUnitsAtATime) {
  const int64_t whole = peak_of_weights(shard_policy("NO_SHARD"));
  const int64_t gathered = peak_of_weights(shard_policy("SHARD_GRAD_OP"));
  const int64_t freed = peak_of_weights(shard_policy("FULL_SHARD"));
  const int64_t unit = whole / (kModel.layers + 1);
  EXPECT_GE(gathered, whole + whole / kMemoryRanks - 2 * unit);
  EXPECT_LE(freed, whole / kMemoryRanks + 4 * unit);
}

TEST_F(MemoryOfStrategies, FullShardReallyFrees) {
  const auto peak = [](const char* strategy) {
    const ShardPolicy& policy = shard_policy(strategy);
    LonelyRank rank(policy.split);
    TestModel model(kModel);
    ShardEngine engine(model, policy, rank.groups, kOptimizer);
    const int64_t base = LiveTensorBytes();
    ResetPeakTensorBytes();
    train_step(model, engine, kModel);
    return PeakTensorBytes() - base;
  };
  constexpr int64_t kLayerBytes = 3 * 128 * 64 * 4;
  EXPECT_LT(peak("FULL_SHARD") + 2 * kLayerBytes, peak("SHARD_GRAD_OP"));
}

TEST_F(MemoryOfStrategies, BudgetKeepsWhatFitsAndEvictsTheRest) {
  ShardPolicy policy = with_precision(shard_policy("gemini_auto"), "fp32");
  policy.chunks.reset();
  policy.yielding_optim_frac = 0;
  LonelyRank bare(policy.split);
  TestModel sized(kModel);
  int64_t resting = 0;
  {
    ShardEngine engine(sized, policy, bare.groups, kOptimizer);
    resting = engine.ledger().live_total();
  }
  const auto gathers = [&](double units) {
    LonelyRank rank(policy.split);
    TestModel model(kModel);
    const double unit = 3 * 128 * 64 * 4;
    policy.memory_cap_bytes = static_cast<int64_t>((static_cast<double>(resting) + units * unit) / 0.9);
    ShardEngine engine(model, policy, rank.groups, kOptimizer, [&engine] { return engine.ledger().live_total(); });
    train_step(model, engine, kModel);
    rank.shard->reset_stats();
    engine.ledger().reset_peak();
    train_step(model, engine, kModel);
    for (const CollectiveStats& stats : rank.shard->stats()) {
      if (stats.kind == "all_gather") {
        return stats.calls;
      }
    }
    return int64_t{0};
  };
  const int64_t all_once = kModel.layers + 2;
  EXPECT_EQ(gathers(20), all_once) << "everything fits: each unit is gathered once a step";
  const int64_t some = gathers(6);
  EXPECT_GT(some, all_once);
  EXPECT_LT(some, 2 * all_once - 2);
  try {
    gathers(0.5);
    ADD_FAILURE() << "nothing fits";
  } catch (const StatusError& error) {
    EXPECT_EQ(error.status().code(), ErrorCode::kOutOfMemory) << error.what();
  }
}

TEST_F(MemoryOfStrategies, GeminiKeepsItsStatesInHostMemory) {
  const ShardPolicy policy = testing::small_policy("gemini", kChunk);
  LonelyRank rank(policy.split);
  TestModel model(kModel);
  ShardEngine engine(model, policy, rank.groups, kOptimizer);
  EXPECT_EQ(engine.ledger().live(MemoryKind::kMoments), 0);
  EXPECT_EQ(engine.ledger().live(MemoryKind::kMaster), 0);
  EXPECT_EQ(engine.ledger().live(MemoryKind::kOffloaded), 6 * engine.ledger().live(MemoryKind::kParameters));
}

}  // namespace
}  // namespace assay::engine
