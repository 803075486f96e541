#include "report/model/lanes_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiment/phase_series.h"

namespace assay::report {
namespace {

using nlohmann::json;
using samplestore::Measurement;

/// `steps` steps of one second each on two ranks, one of which takes nine.
Measurement RunOfSteps(size_t steps, size_t slow) {
  Measurement run;
  run.series[experiment::SpanSeries("load")] = {0.5, 2};
  double began = 2;
  for (size_t i = 0; i < steps; ++i) {
    const double seconds = i == slow ? 9 : 1;
    for (const int64_t rank : {0, 10}) {
      run.series[experiment::StepBeganSeries(rank)].push_back(began);
      run.series[experiment::StepSecondsSeries(rank)].push_back(seconds);
      run.series[experiment::PhaseSeries(rank, "forward")].push_back(0.25 * seconds);
      run.series[experiment::PhaseSeries(rank, "backward")].push_back(0.5 * seconds);
    }
    began += seconds;
  }
  return run;
}

TEST(LanesTest, EachRankHasALaneOfItsStepsAndTheirPhases) {
  const json lanes = LanesJson(RunOfSteps(3, 1), 100);
  EXPECT_EQ(lanes.at("end"), 13);
  EXPECT_EQ(lanes.at("spans"), json({{{"name", "load"}, {"from", 0.5}, {"to", 2}}}));
  ASSERT_EQ(lanes.at("ranks").size(), 2u);
  const json& rank = lanes.at("ranks")[1];
  EXPECT_EQ(rank.at("rank"), 10);
  EXPECT_EQ(rank.at("from"), json({2, 3, 12}));
  EXPECT_EQ(rank.at("to"), json({3, 12, 13}));
  EXPECT_EQ(rank.at("phases").at("backward"), json({0.5, 4.5, 0.5}));
}

TEST(LanesTest, ThePhasesThatTookTimeStandInTheirOrderWithTheSumsOfEachRank) {
  Measurement run = RunOfSteps(3, 1);
  run.series[experiment::PhaseSeries(0, "optimizer")] = {1, 1, 1};
  run.series[experiment::PhaseSeries(0, "data")] = {0, 0, 0};
  EXPECT_EQ(LanesJson(run, 2).at("phases"),
            json({{{"name", "load"}, {"title", "load"}, {"seconds", {1.5, 1.5}}},
                  {{"name", "forward"}, {"title", "forward"}, {"seconds", {2.75, 2.75}}},
                  {{"name", "backward"}, {"title", "backward"}, {"seconds", {5.5, 5.5}}},
                  {{"name", "optimizer"}, {"title", "optimiser"}, {"seconds", {3, 0}}}}));
}

TEST(LanesTest, OfManyStepsNeighboursAreTakenTogetherAndTheSlowestIsKept) {
  const json rank = LanesJson(RunOfSteps(10000, 1234), 100).at("ranks")[0];
  EXPECT_EQ(rank.at("steps").size(), 100u);
  EXPECT_EQ(rank.at("steps")[12], 100);
  EXPECT_EQ(rank.at("first")[12], 1201);
  EXPECT_EQ(rank.at("slowest")[12], 1235);
  EXPECT_EQ(rank.at("slowest_seconds")[12], 9);
  double sum = 0;
  for (const json& seconds : rank.at("phases").at("forward")) {
    sum += seconds.get<double>();
  }
  EXPECT_NEAR(sum, 0.25 * 10008, 0.1);
}

TEST(LanesTest, ARunWithoutPhasesHasNone) {
  Measurement run;
  EXPECT_TRUE(LanesJson(run, 100).is_null());
  run.series["rank0.step_seconds"] = {1, 2};
  run.series["step_seconds"] = {1, 2};
  EXPECT_TRUE(LanesJson(run, 100).is_null()) << "as an older program stored it";
}

TEST(LanesTest, SeriesOfOddNamesAndLengthsDoNoHarm) {
  Measurement run = RunOfSteps(3, 1);
  run.series["rankX.phase.forward"] = {1};
  run.series["rank0.phase.forward"] = {1, std::nan("")};
  run.series["span.save"] = {7};
  run.series["span.checkpoint"] = {1, std::nan(""), std::nan(""), 4};
  run.series["rank99999999999999999999.step_seconds"] = {1};
  const json lanes = LanesJson(run, 100);
  EXPECT_EQ(lanes.at("ranks")[0].at("phases").at("forward"), json({1, 0, 0}));
  EXPECT_EQ(lanes.at("spans").size(), 1u);
}

TEST(LanesTest, TheirSeriesAreKnownByName) {
  for (const char* name : {"span.load", "rank0.phase.forward", "rank12.step_began_s"}) {
    EXPECT_TRUE(IsLaneSeries(name)) << name;
  }
  for (const char* name : {"loss", "rank0.step_seconds", "step_seconds", "rank", "ranking.phase.x"}) {
    EXPECT_FALSE(IsLaneSeries(name)) << name;
  }
}

}  // namespace
}  // namespace assay::report
