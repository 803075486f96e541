#include "report/compare_sides.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Runs of one point whose speed is `speed`, give or take a percent.
std::vector<Measurement> Runs(int64_t batch_size, double speed, int count, const std::string& commit) {
  std::vector<Measurement> runs;
  for (int i = 0; i < count; ++i) {
    Measurement run = testing::MakeValid({.batch_size = batch_size});
    for (auto& [name, value] : run.properties) {
      if (name.ends_with("tokens_per_second")) {
        value = speed * (1 + 0.01 * (i % 3 - 1));
      }
    }
    run.provenance["commit"] = commit;
    run.measured_at = "2026-01-0" + std::to_string(i + 1);
    runs.push_back(std::move(run));
  }
  return runs;
}

void Add(std::vector<Measurement>& to, std::vector<Measurement> from) {
  std::ranges::move(from, std::back_inserter(to));
}

const PointChange* SpeedOf(const SideComparison& comparison, size_t point) {
  for (const PointChange& change : comparison.changes) {
    if (change.point == point && comparison.metrics[change.metric].kind == MetricKind::kThroughput) {
      return &change;
    }
  }
  return nullptr;
}

const OverallChange* OverallSpeedOf(const SideComparison& comparison) {
  for (const OverallChange& overall : comparison.overall) {
    if (comparison.metrics[overall.metric].kind == MetricKind::kThroughput) {
      return &overall;
    }
  }
  return nullptr;
}

TEST(CompareSidesTest, AChangeBeyondTheSpreadOfRunsIsSure) {
  std::vector<Measurement> before = Runs(1, 100, 5, "a");
  Add(before, Runs(2, 200, 5, "a"));
  std::vector<Measurement> after = Runs(1, 120, 5, "b");
  Add(after, Runs(2, 199, 5, "b"));
  const SideComparison comparison = CompareSides(before, after);
  ASSERT_THAT(comparison.points, SizeIs(2));
  const PointChange* faster = SpeedOf(comparison, 0);
  ASSERT_NE(faster, nullptr);
  EXPECT_EQ(faster->change, Change::kBetter);
  EXPECT_NEAR(faster->effect.ratio, 1.2, 1e-9);
  EXPECT_LT(*faster->adjusted_p, 0.001);
  EXPECT_GE(*faster->adjusted_p, *faster->effect.p_value);
  EXPECT_EQ(SpeedOf(comparison, 1)->change, Change::kSame);
  EXPECT_THAT(comparison.points[0].differs, ElementsAre("commit"));
}

TEST(CompareSidesTest, SlowerIsWorse) {
  const auto before = Runs(1, 120, 5, "a");
  const auto after = Runs(1, 100, 5, "b");
  EXPECT_EQ(SpeedOf(CompareSides(before, after), 0)->change, Change::kWorse);
}

TEST(CompareSidesTest, OneRunEachLeavesItOpen) {
  const auto before = Runs(1, 100, 1, "a");
  const auto after = Runs(1, 150, 1, "b");
  const SideComparison comparison = CompareSides(before, after);
  EXPECT_EQ(SpeedOf(comparison, 0)->change, Change::kUnknown);
  EXPECT_NEAR(SpeedOf(comparison, 0)->effect.ratio, 1.5, 1e-9);
  EXPECT_FALSE(SpeedOf(comparison, 0)->adjusted_p.has_value());
}

TEST(CompareSidesTest, WhatLiesWithinOneRunEachLeavesThemOpenTogetherToo) {
  const auto within = [](std::vector<Measurement> runs) {
    for (Measurement& run : runs) {
      for (const auto& [name, value] : std::map(run.properties)) {
        if (name.ends_with("tokens_per_second")) {
          run.properties[name + "_ci_low"] = std::get<double>(value) * 0.99;
          run.properties[name + "_ci_high"] = std::get<double>(value) * 1.01;
        }
      }
    }
    return runs;
  };
  const auto before = within(Runs(1, 110, 1, "a"));
  const auto after = within(Runs(1, 100, 1, "b"));
  const SideComparison comparison = CompareSides(before, after);
  const OverallChange* speed = OverallSpeedOf(comparison);
  ASSERT_NE(speed, nullptr);
  ASSERT_TRUE(speed->effect.p_value.has_value());
  EXPECT_EQ(speed->change, Change::kUnknown);
  EXPECT_FALSE(speed->adjusted_p.has_value());
}

TEST(CompareSidesTest, EachMetricMakesTheOthersLessSure) {
  const auto before = Runs(1, 100, 5, "a");
  const auto after = Runs(1, 120, 5, "b");
  const SideComparison comparison = CompareSides(before, after);
  ASSERT_GT(comparison.overall.size(), 1);
  const OverallChange* speed = OverallSpeedOf(comparison);
  ASSERT_NE(speed, nullptr);
  EXPECT_GT(*speed->adjusted_p, *speed->effect.p_value);
}

TEST(CompareSidesTest, PointsTogetherSayWhatEachCannot) {
  std::vector<Measurement> before;
  std::vector<Measurement> after;
  for (int64_t batch = 1; batch <= 6; ++batch) {
    Add(before, Runs(batch, 100.0 * static_cast<double>(batch), 1, "a"));
    Add(after, Runs(batch, (110.0 + static_cast<double>(batch % 3)) * static_cast<double>(batch), 1, "b"));
  }
  const SideComparison comparison = CompareSides(before, after);
  const OverallChange* speed = OverallSpeedOf(comparison);
  ASSERT_NE(speed, nullptr);
  EXPECT_EQ(speed->change, Change::kBetter);
  EXPECT_EQ(speed->effect.pairs, 6);
  EXPECT_NEAR(speed->effect.ratio, 1.11, 0.005);
}

TEST(CompareSidesTest, TakesTheGroupsThatAgreeMost) {
  std::vector<Measurement> before = Runs(1, 100, 3, "a");
  std::vector<Measurement> elsewhere = Runs(1, 900, 3, "a");
  for (Measurement& run : elsewhere) {
    run.provenance["machine"] = "another";
  }
  Add(before, elsewhere);
  const auto after = Runs(1, 100, 3, "b");
  const SideComparison comparison = CompareSides(before, after);
  EXPECT_NEAR(SpeedOf(comparison, 0)->effect.ratio, 1, 1e-9);
  EXPECT_THAT(comparison.points[0].differs, ElementsAre("commit"));
}

TEST(CompareSidesTest, RunsOfTwoHostsAreNeverOneMean) {
  std::vector<Measurement> before = Runs(1, 100, 3, "a");
  std::vector<Measurement> twin = Runs(1, 130, 3, "a");
  for (Measurement& run : twin) {
    run.provenance["host"] = "twin";
  }
  Add(before, twin);
  const auto after = Runs(1, 100, 3, "a");
  const SideComparison comparison = CompareSides(before, after);
  ASSERT_THAT(comparison.points, SizeIs(1));
  EXPECT_THAT(comparison.points[0].before.runs, SizeIs(3));
  EXPECT_NEAR(SpeedOf(comparison, 0)->effect.ratio, 1, 1e-9) << "of the same host";
  EXPECT_THAT(comparison.points[0].differs, IsEmpty());
}

TEST(CompareSidesTest, OtherContentsOfAFileAreOtherRunsAndDiffer) {
  for (const char* condition : {"model_hash", "data_hash", "tokenizer_hash", "weights", "isa", "gpu"}) {
    std::vector<Measurement> before = Runs(1, 100, 2, "a");
    std::vector<Measurement> after = Runs(1, 120, 4, "a");
    for (Measurement& run : before) {
      run.provenance[condition] = "x";
    }
    for (size_t i = 0; i < after.size(); ++i) {
      after[i].provenance[condition] = i < 2 ? "y" : "z";
    }
    const SideComparison comparison = CompareSides(before, after);
    ASSERT_THAT(comparison.points, SizeIs(1));
    EXPECT_THAT(comparison.points[0].after.runs, SizeIs(2)) << condition;
    EXPECT_THAT(comparison.points[0].differs, ElementsAre(condition));
  }
}

TEST(CompareSidesTest, WhatOneSideLacksIsCounted) {
  std::vector<Measurement> before = Runs(1, 100, 1, "a");
  Add(before, Runs(2, 100, 1, "a"));
  before.push_back(testing::MakeInvalid({.batch_size = 3}, "out of memory"));
  std::vector<Measurement> after = {testing::MakeInvalid({.batch_size = 1}, "out of memory")};
  Add(after, Runs(3, 100, 1, "b"));
  Add(after, Runs(4, 100, 1, "b"));
  const SideComparison comparison = CompareSides(before, after);
  EXPECT_THAT(comparison.points, IsEmpty());
  EXPECT_THAT(comparison.no_longer_valid, ElementsAre(before[0].entity_id));
  EXPECT_THAT(comparison.now_valid, ElementsAre(before[2].entity_id));
  EXPECT_EQ(comparison.only_before, 1);
  EXPECT_EQ(comparison.only_after, 1);
}

}  // namespace
}  // namespace assay::report
