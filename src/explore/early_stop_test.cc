#include "explore/early_stop.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "explore/explore.h"
#include "explore/survey.h"
#include "explore/testing.h"

namespace assay::explore {
namespace {

using samplestore::Outcome;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Points by their batch size: the loss of each step is that size.
class EarlyStopTest : public testing::ExploreFixture {
 protected:
  void SetUp() override {
    ExploreFixture::SetUp();
    explore_.measure = options_;
    explore_.early_stop = {.rule = {.first_step = 3, .startup = 2}, .shown = Shown::kLoss};
    explore_.measure.runner = [this](const job::Plan& plan, const launch::LaunchOptions& launch) {
      return RunOf(std::get<job::TunePlan>(plan), launch);
    };
  }

  Result<job::RunRecord> RunOf(const job::TunePlan& plan, const launch::LaunchOptions& launch) {
    ++runs_;
    job::RunRecord record = testing::DoneRun(10);
    size_t told = 0;
    for (job::Event& event : record.events) {
      ++told;
      if (auto* step = std::get_if<job::Step>(&event)) {
        step->loss = static_cast<double>(plan.batch_size);
        step->supervised_tokens = 1;
        step->real_tokens = 40 / plan.batch_size;
      }
      launch.on_event(event);
      if (launch.cancelled && launch.cancelled()) {
        record.events.resize(told);
        record.end = job::RunEnd::kKilled;
        record.signal = 9;
        return record;
      }
    }
    return record;
  }

  ExploreSummary Run(const std::string& batch_sizes) {
    auto summary = Explore(SpaceOf({batch_sizes}), *store_, explore_, {});
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? *summary : ExploreSummary();
  }

  nlohmann::json Details() { return nlohmann::json::parse(store_->ListOperations().value().back().details); }

  ExploreOptions explore_;
};

TEST_F(EarlyStopTest, WhatIsBehindTheMedianEndsAndIsKeptAsThat) {
  const ExploreSummary summary = Run("1, 2, 8");
  EXPECT_EQ(summary.measured, 2);
  EXPECT_EQ(summary.ended_early, 1);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.remaining, 0);
  EXPECT_EQ(store_->ListOperations().value().back().exit_state, "success");
  const auto failed = store_->List({.outcome = Outcome::kFailed}, /*with_series=*/true).value();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_TRUE(EndedEarly(failed[0]));
  EXPECT_THAT(failed[0].properties, IsEmpty());
  EXPECT_THAT(failed[0].series.at("loss"), SizeIs(3));
  EXPECT_THAT(failed[0].reason, HasSubstr("ended early: behind at step 3, with a loss of 8"));
  EXPECT_EQ(failed[0].provenance.at("ended_early"), "median of the loss from step 3");
  ASSERT_THAT(Details()["ended_early"], SizeIs(1));
  EXPECT_EQ(Details()["ended_early"][0]["uid"], failed[0].uid);
  EXPECT_EQ(Details()["ended_early"][0]["replayed"], false);
}

TEST_F(EarlyStopTest, AnotherOperationOfTheSameRuleKnowsItAndHoldsOthersAgainstIt) {
  Run("1, 2, 8");
  ASSERT_EQ(runs_, 3);
  const ExploreSummary again = Run("1, 2, 8, 16");
  EXPECT_EQ(again.replayed, 3);
  EXPECT_EQ(again.ended_early, 1) << "held against what the store has of the others";
  EXPECT_EQ(runs_, 4);
  ASSERT_THAT(Details()["ended_early"], SizeIs(2));
  EXPECT_EQ(Details()["ended_early"][0]["replayed"], true);
  const auto survey = SurveySpace(SpaceOf({"1, 2, 8, 16, 32"}), *store_, explore_);
  ASSERT_TRUE(survey.ok());
  EXPECT_EQ(survey->missing, 1);
}

TEST_F(EarlyStopTest, AnOperationWithoutTheRuleMeasuresItWhole) {
  Run("1, 2, 8");
  explore_.early_stop->rule.first_step = 4;
  EXPECT_EQ(Run("1, 2, 8").ended_early, 1) << "another rule says for itself";
  explore_.early_stop.reset();
  const ExploreSummary whole = Run("1, 2, 8");
  EXPECT_EQ(whole.replayed, 2);
  EXPECT_EQ(whole.measured, 1);
  explore_.early_stop = {.rule = {.first_step = 3, .startup = 2}, .shown = Shown::kLoss};
  EXPECT_EQ(Run("1, 2, 8").replayed, 3);
  EXPECT_EQ(store_->ListOperations().value().back().details, "") << "it is known whole now";
}

TEST_F(EarlyStopTest, TheRateIsOfAllStepsSoFar) {
  explore_.early_stop->shown = Shown::kRate;
  Run("8, 4, 2, 16");
  const auto failed = store_->List({.outcome = Outcome::kFailed}, /*with_series=*/false).value();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0].reason, HasSubstr("behind at step 3, with a rate of 20"));
}

// In it a worker warms up and compiles.
TEST(EarlyStop, TheRateLeavesTheFirstStepOut) {
  EarlyStop early_stop({.rule = {.first_step = 3, .startup = 2}, .shown = Shown::kRate});
  const auto run_of = [&](int64_t index, double first, double others) {
    std::string ended;
    for (int64_t step = 1; step <= 4 && ended.empty(); ++step) {
      ended = early_stop.OnStep(index, {.step = step, .seconds = step == 1 ? first : others, .real_tokens = 10});
    }
    return ended;
  };
  PointResult whole;
  whole.measurement.outcome = Outcome::kValid;
  EXPECT_EQ(run_of(0, 1, 1), "");
  early_stop.OnDone(0, whole);
  whole.source = Source::kReplayed;
  whole.measurement.series = {{"loss", {1, 1, 1}}, {"step_seconds", {100, 1, 1}}, {"step_real_tokens", {10, 10, 10}}};
  early_stop.OnDone(1, whole);
  EXPECT_EQ(run_of(2, 100, 1), "") << "as fast as the others";
  EXPECT_THAT(run_of(3, 1, 2), HasSubstr("behind at step 3, with a rate of 5"));
}

// As those of images.
TEST(EarlyStop, ReplaysThatDoNotTellTheirRateDoNotCount) {
  EarlyStop early_stop({.rule = {.first_step = 2, .startup = 2}, .shown = Shown::kRate});
  const auto step_of = [&](int64_t index, int64_t images) {
    const std::string first = early_stop.OnStep(index, {.step = 1, .loss = 1, .seconds = 1, .samples = images});
    return first + early_stop.OnStep(index, {.step = 2, .loss = 1, .seconds = 1, .samples = images});
  };
  PointResult result;
  result.source = Source::kReplayed;
  result.measurement.outcome = Outcome::kValid;
  result.measurement.series = {{"loss", {1, 1}}, {"step_seconds", {1}}};
  early_stop.OnDone(0, result);
  early_stop.OnDone(1, result);
  result.source = Source::kMeasured;
  EXPECT_EQ(step_of(2, 10), "");
  early_stop.OnDone(2, result);
  EXPECT_EQ(step_of(3, 8), "") << "two must be known, and one is";
  early_stop.OnDone(3, result);
  EXPECT_THAT(step_of(4, 5), HasSubstr("behind at step 2, with a rate of 5"));
}

// Of another one a loss means something else, and so does a rate.
TEST_F(EarlyStopTest, RunsAreHeldAgainstThoseOfTheirExperiment) {
  const experiment::BoundSpace space = SpaceOf({.batch_sizes = "1, 2, 8", .seeds = {42, 7}});
  const auto run = explore_.measure.runner;
  explore_.measure.runner = [run](const job::Plan& plan, const launch::LaunchOptions& launch) {
    job::TunePlan tune = std::get<job::TunePlan>(plan);
    tune.batch_size *= tune.seed == 42 ? 1 : 4;
    return run(tune, launch);
  };
  const ExploreSummary summary = Explore(space, *store_, explore_, {}).value();
  EXPECT_EQ(summary.measured, 4);
  EXPECT_EQ(summary.ended_early, 2) << "one of each experiment";
}

TEST_F(EarlyStopTest, APointThatIsKnownWholeIsRepeated) {
  Run("1, 2, 8");
  const std::optional<EarlyStopOptions> rule = std::exchange(explore_.early_stop, std::nullopt);
  EXPECT_EQ(Run("8").measured, 1);
  explore_.early_stop = rule;
  explore_.repeats = 3;
  const ExploreSummary summary = Run("8");
  EXPECT_EQ(summary.measured, 2);
  EXPECT_EQ(summary.replayed, 1);
}

TEST_F(EarlyStopTest, WhatIsMeasuredAgainIsNotRepeatedEither) {
  explore_.measure.replay = false;
  explore_.repeats = 3;
  const ExploreSummary summary = Run("1, 2, 8");
  EXPECT_EQ(summary.ended_early, 1);
  EXPECT_EQ(summary.remaining, 0);
  EXPECT_EQ(runs_, 7);
}

TEST_F(EarlyStopTest, IsNotRetriedAndItsRepeatsAreNotMade) {
  explore_.retries = 3;
  explore_.repeats = 3;
  const ExploreSummary summary = Run("1, 2, 8");
  EXPECT_EQ(summary.measured, 6);
  EXPECT_EQ(summary.ended_early, 1);
  EXPECT_EQ(summary.replayed, 2);
  EXPECT_EQ(runs_, 7);
  EXPECT_EQ(Details()["repeats"]["ended_early"], 1);
  EXPECT_EQ(Details()["repeats"]["maximum"], 2);
}

TEST_F(EarlyStopTest, ARunThatCameToItsEndAllTheSameIsWhole) {
  const auto run = explore_.measure.runner;
  explore_.measure.runner = [run](const job::Plan& plan, launch::LaunchOptions launch) {
    launch.cancelled = {};
    return run(plan, launch);
  };
  EXPECT_EQ(Run("1, 2, 8").measured, 3);
}

}  // namespace
}  // namespace assay::explore
