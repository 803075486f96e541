#include "engine/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::engine {
namespace {

Schedule make(std::string_view name, double warmup_ratio, int64_t total) {
  auto schedule = Schedule::create(name, 2.0, warmup_ratio, total);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return *schedule;
}

TEST(Schedule, WarmupStepsRoundUp) {
  EXPECT_EQ(make("cosine", 0.03, 100).warmup_steps(), 3);
  EXPECT_EQ(make("cosine", 0.03, 101).warmup_steps(), 4);
  EXPECT_EQ(make("cosine", 0.03, 1).warmup_steps(), 1);
  EXPECT_EQ(make("cosine", 0.0, 10).warmup_steps(), 0);
}

TEST(Schedule, RisesFromZeroThenFallsToZero) {
  for (const char* name : {"cosine", "linear"}) {
    const Schedule schedule = make(name, 0.4, 10);
    EXPECT_EQ(schedule.learning_rate(1), 0.0) << name;
    EXPECT_DOUBLE_EQ(schedule.learning_rate(3), 1.0) << name;
    EXPECT_DOUBLE_EQ(schedule.learning_rate(5), 2.0) << name;
    EXPECT_NEAR(schedule.learning_rate(11), 0.0, 1e-15) << name;
  }
  EXPECT_DOUBLE_EQ(make("cosine", 0.4, 10).learning_rate(8), 1.0);
  EXPECT_DOUBLE_EQ(make("linear", 0.4, 10).learning_rate(8), 1.0);
}

TEST(Schedule, ColossalsWarmupBeginsWithARateAndRoundsDown) {
  const Schedule schedule = make("cosine_annealing_warmup", 0.3, 96);
  EXPECT_EQ(schedule.warmup_steps(), 28);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 2.0 / 28);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(28), 2.0);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(29), 2.0);
  EXPECT_NEAR(schedule.learning_rate(63), 1.0, 1e-12);
  EXPECT_LT(schedule.learning_rate(96), 1e-2);
}

TEST(Schedule, ConstantIgnoresWarmupUnlessAskedFor) {
  EXPECT_EQ(make("constant", 0.5, 10).learning_rate(1), 2.0);
  EXPECT_EQ(make("constant_with_warmup", 0.5, 10).learning_rate(1), 0.0);
  EXPECT_EQ(make("constant_with_warmup", 0.5, 10).learning_rate(6), 2.0);
  EXPECT_EQ(make("constant_with_warmup", 0.5, 10).learning_rate(10), 2.0);
}

TEST(Schedule, RefusesWhatIsNotASchedule) {
  EXPECT_EQ(Schedule::create("cosin", 1, 0, 1).status().message(),
            "unknown lr_scheduler_type 'cosin' (did you mean 'cosine'?)");
  EXPECT_EQ(Schedule::create("cosine", 1, 1.5, 1).status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Schedule::create("cosine", 1, std::nan(""), 1).status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Schedule::create("cosine", -1, 0, 1).status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Schedule::create("cosine", std::numeric_limits<double>::infinity(), 0, 1).status().code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace assay::engine
