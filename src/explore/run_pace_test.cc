#include "explore/run_pace.h"

#include <gtest/gtest.h>

namespace assay::explore {
namespace {

job::Loaded LoadedFor(int64_t steps) {
  job::Loaded loaded;
  loaded.planned_steps = steps;
  return loaded;
}

job::Step StepOf(int64_t number, double seconds) {
  job::Step step;
  step.step = number;
  step.seconds = seconds;
  return step;
}

TEST(RunPace, ATrainingBehindAnotherHasATimeOfItsOwn) {
  RunPace pace;
  pace.OnLoaded(LoadedFor(10));
  for (int64_t step = 1; step <= 10; ++step) {
    pace.OnStep(StepOf(step, 7));
  }
  EXPECT_EQ(pace.SecondsLeft(), 0);
  pace.OnLoaded(LoadedFor(10));
  pace.OnStep(StepOf(1, 2));
  EXPECT_DOUBLE_EQ(pace.train_seconds(), 2);
  EXPECT_DOUBLE_EQ(pace.SecondsLeft(), 18);
}

TEST(RunPace, OneThatGoesOnTakesTheTimeOfItsOwnSteps) {
  RunPace pace;
  pace.OnLoaded(LoadedFor(10));
  pace.OnStep(StepOf(7, 2));
  EXPECT_DOUBLE_EQ(pace.SecondsLeft(), 6);
}

}  // namespace
}  // namespace assay::explore
