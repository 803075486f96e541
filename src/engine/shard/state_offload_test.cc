// Optimiser states that move to host memory when the budget is short.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "engine/shard/shard_engine.h"
#include "engine/shard/test_training.h"

namespace assay::engine {
namespace {

using testing::Setting;
using testing::ShardedCourse;
using testing::TestModel;
using testing::train_sharded;

const Setting kSetting{.model = {.layers = 5}, .steps = 4, .device_apart = true};

int64_t moments_of(const ShardedCourse& course) {
  return course.memory[static_cast<size_t>(MemoryKind::kMoments)];
}

/// At rest, on the device.
int64_t device_bytes(const ShardedCourse& course) {
  return std::reduce(course.memory.begin(), course.memory.end()) -
         course.memory[static_cast<size_t>(MemoryKind::kOffloaded)];
}

int64_t layer_elements(const ShardedCourse& course) {
  int64_t elements = 0;
  for (const auto& [name, tensor] : course.weights) {
    elements += name.starts_with("layers.0.") ? tensor.numel() : 0;
  }
  return elements;
}

/// The cap that leaves `bytes` beside all that rests on the device.
int64_t cap_with_room(const ShardedCourse& course, int64_t bytes) {
  constexpr double kUsable = 0.9;
  return static_cast<int64_t>(static_cast<double>(device_bytes(course) + bytes) / kUsable);
}

using Case = std::pair<std::string, int>;

class StateOffload : public ::testing::TestWithParam<Case> {
 protected:
  static int ranks() { return GetParam().second; }
  static int64_t bytes_of_four_layers(const ShardedCourse& course) {
    return 4 * layer_elements(course) * (GetParam().first == "fp32" ? 4 : 2);
  }

  static ShardPolicy policy_of_units() {
    ShardPolicy policy = with_precision(shard_policy("gemini_auto"), GetParam().first);
    policy.chunks.reset();
    return policy;
  }

  ShardPolicy policy_ = policy_of_units();
  ShardedCourse roomy_ = train_sharded(ranks(), policy_, kSetting);
};

INSTANTIATE_TEST_SUITE_P(Shard, StateOffload, ::testing::Values(Case("fp32", 2), Case("bf16", 1), Case("bf16", 2)),
                         [](const auto& info) {
                           return info.param.first + "_on_" + std::to_string(info.param.second);
                         });

TEST_P(StateOffload, TakesTheLastUnitsFirstAndChangesNoResult) {
  EXPECT_THAT(roomy_.states_offloaded, ::testing::Each(false));
  policy_.memory_cap_bytes = cap_with_room(roomy_, bytes_of_four_layers(roomy_));
  const ShardedCourse got = train_sharded(ranks(), policy_, kSetting);
  EXPECT_TRUE(std::ranges::is_sorted(got.states_offloaded));
  EXPECT_FALSE(got.states_offloaded.front());
  EXPECT_TRUE(got.states_offloaded.back());
  EXPECT_LT(moments_of(got), moments_of(roomy_));
  EXPECT_LT(device_bytes(got), device_bytes(roomy_));
  EXPECT_EQ(got.losses, roomy_.losses);
  EXPECT_EQ(got.norms, roomy_.norms);
  for (const auto& [name, tensor] : roomy_.weights) {
    EXPECT_TRUE(at::equal(got.weights.at(name), tensor)) << name;
  }
}

TEST_P(StateOffload, ReturnsAllWhereThereIsRoom) {
  policy_.memory_cap_bytes = int64_t{1} << 30;
  const ShardedCourse got = train_sharded(ranks(), policy_, kSetting);
  EXPECT_THAT(got.states_offloaded, ::testing::Each(false));
  EXPECT_EQ(got.losses, roomy_.losses);
  EXPECT_EQ(got.norms, roomy_.norms);
}

TEST_P(StateOffload, TakesOnlyThePartThatMayMove) {
  policy_.yielding_optim_frac = 0.5;
  policy_.memory_cap_bytes = cap_with_room(roomy_, bytes_of_four_layers(roomy_));
  const ShardedCourse half = train_sharded(ranks(), policy_, kSetting);
  EXPECT_THAT(half.states_offloaded, ::testing::Contains(true));
  EXPECT_FALSE(half.states_offloaded.back());
}

TEST(StateOffloadOnACpu, FreesNothingAndIsNotDone) {
  ShardPolicy policy = testing::small_policy("gemini_auto");
  policy.memory_cap_bytes = 1 << 30;
  const auto offloaded = [&](WeightBudget::Probe probe) {
    TestModel model(kSetting.model);
    const ShardEngine engine(model, policy, {}, testing::kOptimizer, std::move(probe));
    return engine.units().front()->groups.front()->weights.optimizer_offloaded();
  };
  EXPECT_FALSE(offloaded({}));
  EXPECT_TRUE(offloaded([] { return 0; }));
}

}  // namespace
}  // namespace assay::engine
