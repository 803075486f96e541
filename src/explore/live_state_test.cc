#include "explore/live_state.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "explore/testing.h"

namespace assay::explore {
namespace {

using nlohmann::json;
using samplestore::Outcome;

experiment::BoundSpace Space() {
  constexpr char kText[] =
      "entitySpace:\n"
      " - {identifier: model_name, propertyDomain: {values: [smollm2-135m]}}\n"
      " - {identifier: number_gpus, propertyDomain: {values: [0]}}\n"
      " - {identifier: model_max_length, propertyDomain: {values: [32, 64]}}\n"
      " - {identifier: batch_size, propertyDomain: {values: [1, 2]}}\n"
      "experiments:\n"
      " - experimentIdentifier: finetune_full_benchmark-v1.0.0\n"
      "   parameterization: [{property: {identifier: stop_after_seconds}, value: 30}]\n"
      "metadata: {name: test}\n";
  return experiment::BoundSpace::Bind(space::ParseDiscoverySpace(kText, "space.yaml").value()).value();
}

class LiveStateTest : public ::testing::Test {
 protected:
  void Start(int64_t index, double now) {
    const experiment::BoundPoint point = space_.At(index);
    state_.OnStart({.index = index, .number = index + 1, .total = 4, .point = &point}, now);
  }
  void Step(int64_t index, int64_t number, double loss = 2, double seconds = 0.5) {
    job::Step step;
    step.step = number;
    step.loss = loss;
    step.seconds = seconds;
    step.real_tokens = 100;
    state_.OnEvent(index, step, 0);
  }
  void Finish(int64_t index, double now, Outcome outcome = Outcome::kValid, Source source = Source::kMeasured) {
    const experiment::BoundPoint point = space_.At(index);
    const PointResult result{
        .source = source, .measurement = testing::MeasurementOf(point, "uid", outcome), .cause = {}};
    state_.OnDone({.index = index, .done = ++done_, .total = 4, .point = &point, .result = &result}, now);
  }
  json Now(double now) const { return json::parse(state_.ToJson(now)); }

  experiment::BoundSpace space_ = Space();
  LiveState state_{space_, /*total=*/4, /*workers=*/1};
  int64_t done_ = 0;
};

TEST_F(LiveStateTest, SaysWhichPointRunsAndHowFarItIs) {
  EXPECT_EQ(Now(0).at("total"), 4);
  EXPECT_TRUE(Now(0).at("seconds_left").is_null()) << "nothing is known of what a point takes";
  Start(1, 10);
  job::Loaded loaded;
  loaded.planned_steps = 20;
  state_.OnEvent(1, loaded, 11);
  EXPECT_EQ(Now(12).at("running").at(0).at("phase"), "loaded");
  Step(1, 1, 3.5);
  Step(1, 2, 3.25);
  const json run = Now(13).at("running").at(0);
  EXPECT_EQ(run.at("number"), 2);
  EXPECT_EQ(run.at("label"), "model_max_length 32, batch_size 2") << "only what varies";
  EXPECT_EQ(run.at("step"), 2);
  EXPECT_EQ(run.at("steps"), 20);
  EXPECT_EQ(run.at("losses"), json({{1, 3.5}, {2, 3.25}}));
  EXPECT_EQ(run.at("rate"), 200);
  EXPECT_EQ(run.at("seconds_left"), 9) << "18 steps of half a second";
  EXPECT_EQ(run.at("seconds"), 3);
}

TEST_F(LiveStateTest, ATimeLimitBoundsWhatIsLeftOfARun) {
  Start(0, 0);
  job::Loaded loaded;
  loaded.planned_steps = 1000;
  state_.OnEvent(0, loaded, 0);
  Step(0, 1, 2, 10);
  EXPECT_EQ(Now(0).at("running").at(0).at("seconds_left"), 20);
}

TEST_F(LiveStateTest, SaysWhatIsLeftByWhatPointsTook) {
  Start(0, 0);
  Finish(0, 8);
  EXPECT_EQ(Now(8).at("seconds_left"), 24);
  Start(1, 8);
  EXPECT_EQ(Now(13).at("seconds_left"), 19) << "what has passed of the present one is not left";
  EXPECT_EQ(Now(1000).at("seconds_left"), 16) << "a point that takes longer takes from its own share alone";
  Finish(1, 20, Outcome::kFailed);
  EXPECT_EQ(Now(20).at("seconds_left"), 20) << "two of ten seconds";
}

TEST_F(LiveStateTest, CountsWhatBecameOfPoints) {
  Finish(0, 0, Outcome::kValid, Source::kReplayed);
  Start(1, 0);
  Finish(1, 1, Outcome::kInvalid);
  Start(2, 1);
  const experiment::BoundPoint point = space_.At(2);
  state_.OnBusy({.index = 2, .number = 3, .total = 4, .point = &point});
  const json state = Now(2);
  EXPECT_EQ(state.at("replayed"), 1);
  EXPECT_EQ(state.at("invalid"), 1);
  EXPECT_EQ(state.at("measured"), 0);
  EXPECT_EQ(state.at("waiting"), 1);
  EXPECT_TRUE(state.at("running").empty());
  EXPECT_EQ(state.at("recent").at(0).at("outcome"), "invalid") << "the newest first";
  EXPECT_EQ(state.at("recent").at(1).at("replayed"), true);
  Step(2, 1);
  EXPECT_EQ(Now(3).at("waiting"), 0) << "it is measured here after all";
  EXPECT_EQ(Now(3).at("running").size(), 1);
}

TEST_F(LiveStateTest, WhatARuleOfTheSearchEndedHasNotFailed) {
  const experiment::BoundPoint point = space_.At(0);
  PointResult result{
      .source = Source::kMeasured, .measurement = testing::MeasurementOf(point, "uid", Outcome::kFailed), .cause = {}};
  result.measurement.provenance[samplestore::kEndedEarly] = "median";
  state_.OnDone({.index = 0, .done = 1, .total = 4, .point = &point, .result = &result}, 1);
  const json state = Now(1);
  EXPECT_EQ(state.at("ended_early"), 1);
  EXPECT_EQ(state.at("failed"), 0);
  EXPECT_EQ(state.at("recent").at(0).at("outcome"), "ended_early");
}

TEST_F(LiveStateTest, ALongRunKeepsAFewOfItsLossesFromFirstToLast) {
  Start(0, 0);
  for (int64_t step = 1; step <= 10'000; ++step) {
    Step(0, step);
  }
  const json losses = Now(0).at("running").at(0).at("losses");
  EXPECT_LE(losses.size(), 200);
  EXPECT_GE(losses.size(), 100);
  EXPECT_LT(losses.front().at(0), 200);
  EXPECT_GT(losses.back().at(0), 9800);
  EXPECT_LT(state_.ToJson(0).size(), 10'000);
}

TEST_F(LiveStateTest, ManyThatRunAtOnceStayFewBytes) {
  constexpr int64_t kRuns = 300;
  for (int64_t run = 0; run < kRuns; ++run) {
    const experiment::BoundPoint point = space_.At(run % 4);
    state_.OnStart({.index = run, .number = run + 1, .total = kRuns, .point = &point}, 0);
    for (int64_t step = 1; step <= 500; ++step) {
      Step(run, step, 1.0 / static_cast<double>(step + run));
    }
  }
  EXPECT_LT(state_.ToJson(1).size(), 50'000);
  const json now = Now(1);
  ASSERT_GT(now.at("running").size(), 10);
  EXPECT_EQ(now.at("running").size() + now.at("more_running").get<size_t>(), kRuns);
  for (const json& run : now.at("running")) {
    EXPECT_EQ(run.at("step"), 500);
    EXPECT_GE(run.at("losses").size(), 30);
    EXPECT_EQ(run.at("losses").back().at(0), 500) << "the last one that is kept";
  }
}

TEST_F(LiveStateTest, ALossThatIsNoNumberIsNone) {
  Start(0, 0);
  Step(0, 1, std::nan(""));
  EXPECT_TRUE(Now(0).at("running").at(0).at("loss").is_null());
}

TEST_F(LiveStateTest, EventsOfNobodyAreDropped) {
  Step(3, 1);
  EXPECT_TRUE(Now(0).at("running").empty());
}

}  // namespace
}  // namespace assay::explore
