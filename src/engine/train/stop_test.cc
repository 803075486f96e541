#include "engine/train/stop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace assay::engine {
namespace {

/// The reference's formulation over all durations at once (numpy's cumsum and searchsorted, side right).
std::optional<Warmup> reference_auto_stop(const std::vector<double>& durations) {
  std::vector<double> cumulative(durations.size());
  std::partial_sum(durations.begin(), durations.end(), cumulative.begin());
  if (cumulative.back() <= 180) {
    return std::nullopt;
  }
  const auto first_after = std::upper_bound(cumulative.begin(), cumulative.end(), 60.0) - cumulative.begin() + 1;
  const auto steps_after = static_cast<int64_t>(cumulative.size()) - first_after;
  const double warmup_seconds = cumulative[first_after - 1];
  if (steps_after >= 10 && cumulative.back() - warmup_seconds >= 120) {
    return Warmup{.steps = first_after, .seconds = warmup_seconds};
  }
  return std::nullopt;
}

/// Runs both over `next()` durations and expects the same answer after every step; returns the step that stopped.
template <typename Next>
size_t expect_like_reference(Next next) {
  AutoStop rule;
  std::vector<double> durations;
  while (durations.size() < 100000) {
    durations.push_back(next());
    const auto got = rule.add(durations.back());
    const auto want = reference_auto_stop(durations);
    EXPECT_EQ(got.has_value(), want.has_value()) << "after step " << durations.size();
    if (got.has_value() != want.has_value() || got) {
      EXPECT_EQ(got.value_or(Warmup{}).steps, want.value_or(Warmup{}).steps);
      EXPECT_EQ(got.value_or(Warmup{}).seconds, want.value_or(Warmup{}).seconds);
      break;
    }
  }
  return durations.size();
}

TEST(AutoStop, EqualsTheReferenceOnConstantSteps) {
  for (const double seconds : {0.5, 1.0, 4.0, 6.0, 7.5, 12.0, 60.0, 61.0, 200.0}) {
    expect_like_reference([=] { return seconds; });
  }
}

TEST(AutoStop, EqualsTheReferenceOnRandomSteps) {
  std::mt19937 generator(1);
  for (int trial = 0; trial < 30; ++trial) {
    std::lognormal_distribution<double> distribution(trial * 0.15 - 1.0, 1.0);
    expect_like_reference([&] { return distribution(generator); });
  }
}

TEST(AutoStop, NeedsTenStepsAndTwoMinutesAfterWarmup) {
  // Steps of 30 s: 60 s are exceeded by step 3 (90 s), and ten more steps are needed.
  EXPECT_EQ(expect_like_reference([] { return 30.0; }), 13u);
  // Steps of 1 s: warm-up ends with step 61, 120 s later is step 181.
  EXPECT_EQ(expect_like_reference([] { return 1.0; }), 181u);
}

TEST(StopRule, EndsAtTheLastStepAndNamesWhoSetIt) {
  StopRule steps({.last_step = 2, .last_step_is_max_steps = true});
  EXPECT_EQ(steps.after_step(1, 1, 1), "");
  EXPECT_EQ(steps.after_step(2, 1, 2), "max_steps");
  StopRule epochs({.last_step = 1});
  EXPECT_EQ(epochs.after_step(1, 1, 1), "epochs");
}

TEST(StopRule, EndsOnceTheTimeIsExceeded) {
  StopRule rule({.last_step = 100, .stop_after_seconds = 3});
  EXPECT_EQ(rule.after_step(1, 1.5, 1.5), "");
  EXPECT_EQ(rule.after_step(2, 1.5, 3.0), "") << "the limit must be exceeded";
  EXPECT_EQ(rule.after_step(3, 1.5, 4.5), "stop_after_seconds");
}

TEST(StopRule, ReportsTheWarmupOfAutoStop) {
  StopRule rule({.last_step = 100, .auto_stop_method = std::string(AutoStop::kName)});
  for (int64_t step = 1; step <= 12; ++step) {
    EXPECT_EQ(rule.after_step(step, 30, 30.0 * step), "");
    EXPECT_EQ(rule.warmup().steps, 0);
  }
  EXPECT_EQ(rule.after_step(13, 30, 390), "auto_stop");
  EXPECT_EQ(rule.warmup().steps, 3);
  EXPECT_EQ(rule.warmup().seconds, 90);
}

TEST(StopRule, EndsWhenEvaluationsAreNoBetterThanTheBest) {
  StopRule rule({.last_step = 100, .early_stopping = 2});
  EXPECT_EQ(rule.after_evaluation(3.0), "");
  EXPECT_EQ(rule.after_evaluation(3.0), "") << "equal is no better";
  EXPECT_EQ(rule.after_evaluation(2.9), "");
  EXPECT_EQ(rule.after_evaluation(std::nan("")), "");
  StopRule resumed({.last_step = 100, .early_stopping = 2}, rule.evaluations());
  EXPECT_EQ(resumed.after_last_step(10), "");
  EXPECT_EQ(resumed.after_evaluation(2.95), "early_stopping");
  EXPECT_EQ(StopRule({.last_step = 100, .early_stopping = 2}, resumed.evaluations()).after_last_step(12),
            "early_stopping")
      << "it goes on behind its end";
  StopRule never({.last_step = 100});
  for (int evaluation = 0; evaluation < 9; ++evaluation) {
    EXPECT_EQ(never.after_evaluation(1.0), "");
  }
}

TEST(StopOptions, AreChecked) {
  EXPECT_TRUE(check_stop_options({.last_step = 1}).ok());
  EXPECT_FALSE(check_stop_options({.last_step = 0}).ok());
  EXPECT_FALSE(check_stop_options({.last_step = 1, .auto_stop_method = "SOON"}).ok());
}

}  // namespace
}  // namespace assay::engine
