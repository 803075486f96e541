// Experts divided over ranks against one rank that holds all of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/comm/local_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::Course;
using testing::expect_same_course;
using testing::ExpertPlace;
using ::testing::HasSubstr;
using testing::kOptimizer;
using testing::Setting;
using testing::TestModel;
using testing::TestModelOptions;
using ::testing::ThrowsMessage;
using testing::train_alone;
using testing::train_sharded;

constexpr int64_t kExpertSteps = 4;
// Experts see few tokens: of gradients near zero Adam's first steps would make whole learning rates out of rounding.
const OptimizerOptions kSteady{.weight_decay = 0.1, .eps = 1e-5};
const TestModelOptions kMixture{.layers = 2, .experts = 4};

struct ExpertCase {
  std::string strategy;
  int ranks;
  int expert_ranks;
};

std::vector<ExpertCase> cases_on(const std::vector<const char*>& strategies,
                                 const std::vector<std::pair<int, int>>& ranks_and_expert_ranks) {
  std::vector<ExpertCase> all;
  for (const char* strategy : strategies) {
    for (const auto& [ranks, expert_ranks] : ranks_and_expert_ranks) {
      all.push_back({strategy, ranks, expert_ranks});
    }
  }
  return all;
}

ShardPolicy exact(const std::string& strategy) {
  return with_precision(testing::small_policy(strategy), "fp32");
}

Course train(const ExpertCase& where, const ShardPolicy& policy, Setting setting) {
  setting.expert_ranks = where.expert_ranks;
  setting.optimizer = kSteady;
  return train_sharded(where.ranks, policy, setting);
}

Course train_whole(Setting setting) {
  setting.optimizer = kSteady;
  return train_alone(setting);
}

class DividedExperts : public ::testing::TestWithParam<ExpertCase> {
 protected:
  static void expect_parity(const Setting& setting, const std::function<void(ShardPolicy&)>& change = {}) {
    ShardPolicy policy = exact(GetParam().strategy);
    if (change) {
      change(policy);
    }
    expect_same_course(train(GetParam(), policy, setting), train_whole(setting));
  }
};

class DividedExpertsOnRanks : public DividedExperts {};

std::string expert_case_name(const ::testing::TestParamInfo<ExpertCase>& info) {
  return fmt::format("{}_on_{}_experts_over_{}", info.param.strategy, info.param.ranks, info.param.expert_ranks);
}

INSTANTIATE_TEST_SUITE_P(Shard, DividedExperts,
                         ::testing::ValuesIn(cases_on({"torch_ddp", "low_level_zero_2", "HYBRID_SHARD"}, {{4, 2}})),
                         expert_case_name);
INSTANTIATE_TEST_SUITE_P(Shard, DividedExpertsOnRanks,
                         ::testing::ValuesIn(cases_on({"torch_ddp", "low_level_zero", "low_level_zero_2", "gemini",
                                                       "gemini_auto", "FULL_SHARD", "HYBRID_SHARD"},
                                                      {{2, 2}, {4, 2}, {4, 4}})),
                         expert_case_name);

TEST_P(DividedExpertsOnRanks, TrainAsOneRank) {
  expect_parity({.model = kMixture});
}

TEST_P(DividedExperts, TrainAsOneRankWithCheckpointingAndLateReductions) {
  TestModelOptions checkpointed = kMixture;
  checkpointed.checkpointed = true;
  expect_parity({.model = checkpointed, .steps = kExpertSteps, .no_sync = true});
}

TEST_P(DividedExperts, AgreeOnExpertsThatSomeRanksUse) {
  expect_parity({.model = kMixture, .steps = kExpertSteps, .use_differs = true},
                [](ShardPolicy& policy) { policy.ranks_differ_in_use = true; });
}

TEST_P(DividedExperts, SmallBucketsAndPlacementChangeNothing) {
  expect_parity({.model = kMixture, .steps = kExpertSteps}, [](ShardPolicy& policy) {
    policy.bucket_mib = 0.004;
    policy.first_bucket_mib = 0.001;
    policy.keep_gathered_frac = 0.4;
    policy.offload_optim_frac = 0.7;
    policy.offload_param_frac = 0.9;
  });
}

TEST_P(DividedExperts, FollowTheCourseIn16And8Bits) {
  const Setting setting{.model = kMixture, .steps = kExpertSteps};
  const Course want = train_whole(setting);
  for (const char* precision : {"bf16", "fp16", "fp8"}) {
    ShardPolicy policy = with_precision(testing::small_policy(GetParam().strategy), precision);
    policy.loss_scale.initial = 256;
    const Course got = train(GetParam(), policy, setting);
    for (size_t i = 0; i < want.losses.size(); ++i) {
      SCOPED_TRACE(fmt::format("{}, step {}", precision, i));
      EXPECT_NEAR(got.losses[i], want.losses[i], policy.gather_float8 ? 0.15 : 0.025);
      if (!policy.gather_float8) {
        EXPECT_NEAR(got.norms[i] / want.norms[i], 1, 0.05);
      }
    }
  }
}

/// Bytes of parameters, gradients and states that rank 0 of `where` holds after a step.
int64_t held_bytes(const ExpertCase& where) {
  int64_t bytes = 0;
  testing::run_ranks(make_thread_group(where.ranks), [&](Communicator& world) {
    const ShardPolicy policy = exact(where.strategy);
    testing::RankGroups groups(world, policy.split, where.expert_ranks);
    TestModel model(kMixture, groups.expert_place());
    ShardEngine engine(model, policy, groups.groups, kOptimizer);
    bytes = world.rank() == 0 ? engine.ledger().live_total() : bytes;
  });
  return bytes;
}

TEST(Experts, AreHeldByTheirRanksAlone) {
  constexpr int64_t kBytesOfExperts = 2 * 4 * 3 * (2 * 24 * 24) * 4;  // layers, experts, matrices, elements, bytes
  constexpr int64_t kCopies = 4;                                      // weights, gradients, two moments
  const int64_t all = held_bytes({"torch_ddp", 4, 1});
  EXPECT_EQ(all - held_bytes({"torch_ddp", 4, 2}), kCopies * kBytesOfExperts / 2);
  EXPECT_EQ(all - held_bytes({"torch_ddp", 4, 4}), kCopies * kBytesOfExperts * 3 / 4);
}

TEST(Experts, AreRefusedOverGroupsThatDoNotMultiplyUp) {
  const auto world = make_fake_communicator({.rank = 0, .size = 4});
  const auto experts = make_fake_communicator({.rank = 0, .size = 2});
  TestModel model(kMixture, ExpertPlace{experts.get()});
  EXPECT_THAT([&] { ShardEngine(model, exact("FULL_SHARD"), {.shard = world.get(), .experts = experts.get()}, {}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr(
                  "2 ranks that share the experts times 1 that hold the same ones are not the 4 data ranks")));
}

}  // namespace
}  // namespace assay::engine
