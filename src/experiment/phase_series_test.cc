#include "experiment/phase_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::experiment {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

/// Two ranks, whose clock is 1000 s ahead of the events'; an event comes `late` after its step.
job::RunRecord RecordOfTwoRanks() {
  job::RunRecord record;
  const auto add = [&](double at, const job::Event& event) {
    record.events.push_back(event);
    record.event_seconds.push_back(at);
  };
  add(2, job::Loaded{.seconds = 1.5});
  double began = 2;
  for (const double late : {0.004, 0.001}) {
    for (const int64_t rank : {0, 1}) {
      add(began + 1 + late + 0.001 * static_cast<double>(rank), job::RankStep{.rank = rank,
                                                                              .began_seconds = 1000 + began,
                                                                              .seconds = 1,
                                                                              .data_seconds = 0.05,
                                                                              .transfer_seconds = 0.01,
                                                                              .forward_seconds = 0.25,
                                                                              .backward_seconds = 0.5,
                                                                              .optimizer_seconds = 0.1,
                                                                              .forward_exposed_seconds = 0.05,
                                                                              .backward_exposed_seconds = 0.2,
                                                                              .optimizer_exposed_seconds = 0.01});
    }
    began += 1.5;
  }
  add(5.5, job::Evaluation{.seconds = 0.5});
  add(6, job::Saved{.path = "x", .seconds = 0.25});
  return record;
}

TEST(PhaseSeriesTest, PhasesAddUpAndWhatWaitedIsCommunication) {
  Measured values;
  AddPhaseSeries(RecordOfTwoRanks(), values);
  EXPECT_THAT(values.series.at("rank1.phase.data"), ElementsAre(DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12)));
  EXPECT_THAT(values.series.at("rank1.phase.forward"), ElementsAre(0.2, 0.2));
  EXPECT_THAT(values.series.at("rank1.phase.backward"), ElementsAre(0.3, 0.3));
  EXPECT_THAT(values.series.at("rank0.phase.communication"),
              ElementsAre(DoubleNear(0.26, 1e-12), DoubleNear(0.26, 1e-12)));
  EXPECT_THAT(values.series.at("rank0.phase.optimizer"), ElementsAre(DoubleNear(0.09, 1e-12), DoubleNear(0.09, 1e-12)));
  EXPECT_THAT(values.series.at("rank0.step_seconds"), ElementsAre(1, 1));
}

// The event that came first after its step tells how the clocks stand to each other.
TEST(PhaseSeriesTest, StepsStandOnTheClockOfTheSamples) {
  Measured values;
  AddPhaseSeries(RecordOfTwoRanks(), values);
  EXPECT_THAT(values.series.at("rank0.step_began_s"), ElementsAre(DoubleNear(2.001, 1e-9), DoubleNear(3.501, 1e-9)));
  EXPECT_EQ(values.series.at("rank0.step_began_s"), values.series.at("rank1.step_began_s"));
}

TEST(PhaseSeriesTest, WhatIsOutsideOfStepsIsASpan) {
  Measured values;
  AddPhaseSeries(RecordOfTwoRanks(), values);
  EXPECT_THAT(values.series.at("span.load"), ElementsAre(0.5, 2));
  EXPECT_THAT(values.series.at("span.evaluation"), ElementsAre(5, 5.5));
  EXPECT_THAT(values.series.at("span.checkpoint"), ElementsAre(5.75, 6));
}

TEST(PhaseSeriesTest, AWorkerThatDoesNotTellWhenStepsBeganHasNoLanes) {
  job::RunRecord record;
  record.events.emplace_back(job::RankStep{.seconds = 1});
  record.event_seconds.push_back(1);
  Measured values;
  AddPhaseSeries(record, values);
  EXPECT_TRUE(values.series.empty());
}

TEST(PhaseSeriesTest, NamesAreReadBack) {
  EXPECT_EQ(RankOf(PhaseSeries(12, "forward")), 12);
  EXPECT_EQ(PhaseOf(PhaseSeries(12, "forward")), "forward");
  EXPECT_EQ(RankOf(StepBeganSeries(3)), 3);
  EXPECT_EQ(PhaseOf(StepBeganSeries(3)), "");
  EXPECT_EQ(SpanOf(SpanSeries("load")), "load");
  EXPECT_EQ(SpanOf("loss"), "");
  EXPECT_EQ(RankOf("rank"), std::nullopt);
}

}  // namespace
}  // namespace assay::experiment
