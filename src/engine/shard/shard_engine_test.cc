#include "engine/shard/shard_engine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/local_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/shard/full_weights.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::Course;
using testing::expect_same_course;
using testing::kOptimizer;
using testing::Setting;
using testing::test_batch;
using testing::TestModel;
using testing::TestModelOptions;
using testing::train_alone;
using testing::train_sharded;

constexpr int64_t kFewSteps = 4;

struct Case {
  std::string strategy;
  int ranks = 1;
};

std::vector<Case> cases_on(const std::vector<int>& numbers_of_ranks) {
  std::vector<Case> cases;
  for (const ShardStrategy& strategy : shard_strategies()) {
    const bool groups = strategy.policy.split == SplitOver::kGroup;
    for (const int ranks : groups ? std::vector<int>{4} : numbers_of_ranks) {
      cases.push_back({std::string(strategy.name), ranks});
    }
  }
  return cases;
}

class EveryStrategy : public ::testing::TestWithParam<Case> {
 protected:
  void expect_parity(const Setting& setting, const std::function<void(ShardPolicy&)>& change = {}) const {
    ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), "fp32");
    if (change) {
      change(policy);
    }
    expect_same_course(train_sharded(GetParam().ranks, policy, setting), train_alone(setting));
  }
};

class EveryStrategyAndNumberOfRanks : public EveryStrategy {};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_on_{}", info.param.strategy, info.param.ranks);
}

INSTANTIATE_TEST_SUITE_P(Shard, EveryStrategy, ::testing::ValuesIn(cases_on({2})), case_name);
INSTANTIATE_TEST_SUITE_P(Shard, EveryStrategyAndNumberOfRanks, ::testing::ValuesIn(cases_on({1, 2, 4})), case_name);

TEST_P(EveryStrategyAndNumberOfRanks, TrainsAsOneRank) {
  expect_parity({});
}

TEST_P(EveryStrategy, TrainsAsOneRankWithCheckpointing) {
  expect_parity({.model = {.checkpointed = true}, .steps = kFewSteps});
}

TEST_P(EveryStrategy, PutsReductionsOff) {
  expect_parity({.steps = kFewSteps, .no_sync = true});
}

TEST_P(EveryStrategy, LeavesUnusedParametersAlone) {
  expect_parity({.model = {.unused = true, .skip_layer = true}, .steps = kFewSteps});
}

TEST_P(EveryStrategy, AgreesOnParametersThatSomeRanksUse) {
  expect_parity({.model = {.unused = true}, .steps = kFewSteps, .use_differs = true},
                [](ShardPolicy& policy) { policy.ranks_differ_in_use = true; });
}

TEST_P(EveryStrategy, TrainsBesideFrozenParameters) {
  expect_parity({.model = {.frozen = true}, .steps = kFewSteps});
  expect_parity({.model = {.tied = false, .frozen = true, .checkpointed = true}, .steps = kFewSteps});
}

TEST_P(EveryStrategy, SmallBucketsAndLateReductionsChangeNothing) {
  expect_parity({.steps = kFewSteps}, [](ShardPolicy& policy) {
    policy.bucket_mib = 0.004;
    policy.first_bucket_mib = 0.001;
    policy.overlap = !policy.overlap;
    policy.prefetch = 2;
  });
}

TEST_P(EveryStrategy, PlacementChangesNothing) {
  expect_parity({.steps = kFewSteps}, [](ShardPolicy& policy) {
    policy.keep_gathered_frac = 0.4;
    policy.offload_optim_frac = 0.7;
    policy.offload_param_frac = 0.9;
  });
}

TEST_P(EveryStrategy, NamesParametersWithoutGradient) {
  const Setting setting{.model = {.unused = true, .skip_layer = true}, .steps = 1};
  const ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), "fp32");
  EXPECT_THAT(train_sharded(GetParam().ranks, policy, setting).unused,
              ::testing::UnorderedElementsAre("layers.0.norm.weight", "layers.0.gate.weight", "layers.0.up.weight",
                                              "layers.0.down.weight", "layers.0.down.bias", "layers.1.unused.weight"));
}

TEST_P(EveryStrategy, FollowsTheCourseIn16And8Bits) {
  const Setting setting{.steps = 8};
  const Course want = train_alone(setting);
  for (const auto& [precision, gather_float8] :
       {std::pair{"bf16", false}, {"fp16", false}, {"fp8", true}, {"amp_fp16", false}, {"fp32", true}}) {
    ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), precision);
    policy.gather_float8 = gather_float8;
    policy.loss_scale.initial = 256;
    const Course got = train_sharded(GetParam().ranks, policy, setting);
    for (size_t i = 0; i < want.losses.size(); ++i) {
      SCOPED_TRACE(fmt::format("{}, step {}", precision, i));
      EXPECT_NEAR(got.losses[i], want.losses[i], gather_float8 ? 0.15 : 0.025);
      if (!gather_float8) {
        EXPECT_NEAR(got.norms[i] / want.norms[i], 1, 0.05);
      }
    }
    EXPECT_LT(got.losses.back(), got.losses.front()) << precision;
  }
}

/// Two steps of which the second overflows on one rank.
void overflow_on_last_rank(Communicator& world, const ShardPolicy& policy) {
  const TestModelOptions options;
  TestModel model(options);
  testing::RankGroups groups(world, policy.split);
  ShardEngine engine(model, policy, groups.groups, kOptimizer);
  const auto train = [&](double factor) {
    const auto batch = test_batch(options, 0, 0);
    engine.backward(model.loss(batch.ids_T, batch.targets_T) * factor);
    engine.step(1e-2);
  };
  train(1);
  const auto before = full_weights(engine);
  const double scale = engine.loss_scaler().scale();
  train(world.rank() + 1 == world.size() ? INFINITY : 1);
  EXPECT_TRUE(engine.last_step().skipped);
  const auto after = full_weights(engine);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(before[i].second, after[i].second)) << before[i].first;
  }
  EXPECT_EQ(engine.loss_scaler().scale(), scale / 2);
  for (const int64_t steps : engine.optimizer().state(0).steps) {
    EXPECT_EQ(steps, 1);
  }
  train(1);
  EXPECT_FALSE(engine.last_step().skipped);
  EXPECT_FALSE(at::equal(full_weights(engine)[0].second, before[0].second));
}

/// Steps that move nothing: what is trained must stay as it is to the bit, however it travels.
TEST_P(EveryStrategyAndNumberOfRanks, WeightsThatTravelIn8BitsStayExactWhereTheyAreTrained) {
  ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), "fp32");
  policy.gather_float8 = true;
  const TestModelOptions options;
  auto group = make_thread_group(GetParam().ranks);
  testing::run_ranks(group, [&](Communicator& world) {
    TestModel model(options);
    std::map<std::string, at::Tensor> before;
    for (const auto& [name, tensor] : model.parameters()) {
      before[name] = tensor.detach().clone();
    }
    testing::RankGroups groups(world, policy.split);
    ShardEngine engine(model, policy, groups.groups, {.weight_decay = 0});
    for (int64_t step = 0; step < 3; ++step) {
      const auto batch = test_batch(options, step, 0);
      engine.backward(model.loss(batch.ids_T, batch.targets_T));
      engine.step(/*learning_rate=*/0);
    }
    for (const auto& [name, tensor] : full_weights(engine)) {
      EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
    }
  });
}

struct ManyPasses {
  const char* strategy;
  const char* precision = "bf16";  ///< of the arithmetic; gradients travel in bfloat16
  bool no_sync = true;
};

class SeveralBackwards : public ::testing::TestWithParam<ManyPasses> {};

TEST_P(SeveralBackwards, AddUpSmallGradientsIn32Bits) {
  constexpr int64_t kPasses = 600;  // in bfloat16 a sum stands still at 256 times what is added
  ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), GetParam().precision);
  policy.several_backwards = true;
  policy.reduce_dtype = at::kBFloat16;
  const TestModelOptions options;
  const auto norm_of = [&](Communicator& world, int64_t passes) {
    TestModel model(options);
    testing::RankGroups groups(world, policy.split);
    ShardEngine engine(model, policy, groups.groups, kOptimizer);
    const auto batch = test_batch(options, 0, 0);
    for (int64_t pass = 1; pass <= passes; ++pass) {
      engine.backward(model.loss(batch.ids_T, batch.targets_T) / static_cast<double>(passes), pass == passes,
                      GetParam().no_sync);
    }
    engine.step(0);
    return engine.last_step().gradient_norm;
  };
  auto group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& world) {
    const double once = norm_of(world, 1);
    EXPECT_NEAR(norm_of(world, kPasses) / once, 1, 0.01);
  });
}

INSTANTIATE_TEST_SUITE_P(Shard, SeveralBackwards,
                         ::testing::Values(ManyPasses{"torch_ddp"}, ManyPasses{"torch_ddp", "fp32"},
                                           ManyPasses{"torch_ddp", "bf16", false}, ManyPasses{"low_level_zero"},
                                           ManyPasses{"FULL_SHARD", "fp32"}, ManyPasses{"FULL_SHARD", "bf16", false}));

/// Bytes that a rank of two sends in each of `passes`, without those of collectives of the kind `without`.
std::vector<int64_t> bytes_of_passes(const ShardPolicy& policy, int passes, std::string_view without = "") {
  std::vector<int64_t> bytes(passes);
  auto group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& world) {
    const TestModelOptions options;
    TestModel model(options);
    testing::RankGroups groups(world, policy.split);
    ShardEngine engine(model, policy, groups.groups, kOptimizer);
    Communicator& ranks = policy.split == SplitOver::kNobody ? *groups.groups.replicate : *groups.groups.shard;
    const auto batch = test_batch(options, 0, 0);
    for (int pass = 0; pass < passes; ++pass) {
      ranks.reset_stats();
      engine.backward(model.loss(batch.ids_T, batch.targets_T), /*last=*/pass == passes - 1);
      for (const CollectiveStats& stats : ranks.stats()) {
        if (world.rank() == 0 && stats.kind != without) {
          bytes[pass] += stats.bytes;
        }
      }
    }
  });
  return bytes;
}

TEST(ShardEngine, GradientsOfSeveralBackwardsTravelInAsManyBytesAsThoseOfOne) {
  for (const char* strategy : {"torch_ddp", "low_level_zero", "FULL_SHARD"}) {
    ShardPolicy policy = with_precision(shard_policy(strategy), "bf16");
    const auto of_one = bytes_of_passes(policy, 1);
    policy.several_backwards = true;
    EXPECT_THAT(of_one, ::testing::ElementsAre(::testing::Gt(0))) << strategy;
    EXPECT_EQ(bytes_of_passes(policy, 1), of_one) << strategy;
  }
}

TEST(ShardEngine, GradientsTravelInAsManyBytesWithEachBackwardThatReduces) {
  for (const char* strategy : {"torch_ddp", "low_level_zero_2", "FULL_SHARD"}) {
    ShardPolicy policy = with_precision(shard_policy(strategy), "bf16");
    policy.several_backwards = true;
    const auto bytes = bytes_of_passes(policy, 3, "all_gather");
    EXPECT_GT(bytes[0], 0) << strategy;
    EXPECT_THAT(bytes, ::testing::Each(bytes[0])) << strategy;
  }
}

TEST(ShardEngine, RanksThatUseDifferentParametersAreFound) {
  const Setting setting{.model = {.unused = true}, .steps = 2, .use_differs = true};
  for (const char* strategy : {"torch_ddp", "low_level_zero"}) {
    auto group = make_thread_group(2);
    const auto errors = testing::run_ranks_to_end(group, [&](Communicator& world) {
      testing::train_rank(world, with_precision(shard_policy(strategy), "fp32"), setting);
    });
    for (const std::exception_ptr& error : errors) {
      EXPECT_THAT([&] { std::rethrow_exception(error); },
                  ::testing::ThrowsMessage<std::runtime_error>(::testing::HasSubstr("used different parameters")))
          << strategy;
    }
  }
}

TEST_P(EveryStrategyAndNumberOfRanks, SkipsAStepThatOverflowsOnAnyRank) {
  ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), "fp16");
  policy.loss_scale = {.initial = 256};
  auto group = make_thread_group(GetParam().ranks);
  testing::run_ranks(group, [&](Communicator& world) { overflow_on_last_rank(world, policy); });
}

/// One rank is what the gate of the ViT benchmark compares with; in 16 bits norms may differ by 5 % there.
TEST(ShardEngineReduction, AnAllReduceThatMovesNothingShowsInTheGradientNorm) {
  const Setting setting{.steps = 1};
  const double want = train_alone(setting).norms[0];
  for (const ShardStrategy& strategy : shard_strategies()) {
    if (strategy.policy.split == SplitOver::kNobody) {
      const auto deaf = make_fake_communicator({.rank = 0, .size = 2});
      const Course got = testing::train_rank(*deaf, with_precision(strategy.policy, "fp32"), setting);
      EXPECT_GT(std::abs(got.norms[0] / want - 1), 0.05) << strategy.name;
    }
  }
}

TEST(ShardEngineOverflow, WithoutALossScaleNothingIsUpdatedEither) {
  const TestModelOptions options;
  TestModel model(options);
  ShardEngine engine(model, shard_policy("torch_ddp"), {}, kOptimizer);
  const auto batch = test_batch(options, 0, 0);
  const auto before = full_weights(engine);
  engine.backward(model.loss(batch.ids_T, batch.targets_T) * INFINITY);
  engine.step(1e-2);
  EXPECT_TRUE(engine.last_step().skipped);
  EXPECT_FALSE(engine.last_step().exhausted);
  EXPECT_FALSE(std::isfinite(engine.last_step().gradient_norm));
  const auto after = full_weights(engine);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(before[i].second, after[i].second)) << before[i].first;
  }
}

TEST(ShardEngineOverflow, AnExhaustedLossScaleIsReported) {
  const TestModelOptions options;
  TestModel model(options);
  ShardPolicy policy = with_precision(shard_policy("torch_ddp"), "fp16");
  policy.loss_scale = {.initial = 2, .minimum = 1};
  ShardEngine engine(model, policy, {}, kOptimizer);
  const auto batch = test_batch(options, 0, 0);
  for (int step = 1; step <= 10; ++step) {
    engine.backward(model.loss(batch.ids_T, batch.targets_T) * INFINITY);
    engine.step(1e-2);
    EXPECT_EQ(engine.last_step().exhausted, step == 10) << step;
  }
}

}  // namespace
}  // namespace assay::engine
