#include "explore/endings.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "explore/explore.h"
#include "explore/testing.h"

namespace assay::explore {
namespace {

using testing::DoneRun;
using testing::EndedRun;

class EndingsTest : public testing::ExploreFixture {
 protected:
  nlohmann::json DetailsOf(const ExploreOptions& explore, const std::string& batch_sizes) {
    EXPECT_TRUE(Explore(SpaceOf({batch_sizes}), *store_, explore, {}).ok());
    return nlohmann::json::parse(store_->ListOperations().value().back().details);
  }
};

TEST_F(EndingsTest, SaysWhyTheRepeatsOfEachPointEnded) {
  ExploreOptions explore{.measure = options_, .repeats = 5, .until = RepeatUntil{.interval = 0.05}};
  explore.details = R"({"sampler":"sequential"})";
  explore.measure.runner = [this](const job::Plan& plan, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    const int64_t batch = std::get<job::TunePlan>(plan).batch_size;
    ++runs_;
    if (batch == 4) {
      return EndedRun(job::RunEnd::kDiverged, "the loss of step 2 is not finite");
    }
    if (batch == 8) {
      return EndedRun(job::RunEnd::kVanished, "gone");
    }
    // Of batch size 1 all runs are as fast, of 2 each is slower than the one before.
    const double seconds = batch == 1 ? 0.1 : 0.1 * runs_;
    job::RunRecord record = DoneRun(5);
    for (job::Event& event : record.events) {
      if (auto* step = std::get_if<job::Step>(&event)) {
        step->seconds = seconds;
      } else if (auto* ended = std::get_if<job::Ended>(&event)) {
        ended->train_runtime = 5 * seconds;
      }
    }
    return record;
  };
  const nlohmann::json details = DetailsOf(explore, "1, 2, 4, 8");
  EXPECT_EQ(details["sampler"], "sequential");
  const nlohmann::json& repeats = details["repeats"];
  ASSERT_EQ(repeats["points"].size(), 4) << repeats.dump();
  EXPECT_EQ(repeats["points"][0]["ended_by"], "interval");
  EXPECT_EQ(repeats["points"][0]["runs"], 3);
  EXPECT_EQ(repeats["points"][0]["relative_half_width"], 0.0);
  EXPECT_EQ(repeats["points"][1]["ended_by"], "maximum");
  EXPECT_EQ(repeats["points"][1]["runs"], 5);
  EXPECT_GT(repeats["points"][1]["relative_half_width"], 0.05);
  EXPECT_EQ(repeats["points"][2]["ended_by"], "invalid");
  EXPECT_EQ(repeats["points"][3]["ended_by"], "failure");
  EXPECT_EQ(repeats["failure"], 1);
}

TEST_F(EndingsTest, WhatTheOperationDidNotComeToIsUnfinished) {
  const ExploreOptions explore{.measure = options_, .max_points = 3, .repeats = 2};
  const nlohmann::json repeats = DetailsOf(explore, "1, 2")["repeats"];
  EXPECT_EQ(repeats["maximum"], 1);
  EXPECT_EQ(repeats["unfinished"], 1);
}

TEST_F(EndingsTest, NothingIsAddedWhereEachPointWasMeasuredOnce) {
  EXPECT_TRUE(Explore(SpaceOf({"1, 2"}), *store_, {.measure = options_}, {}).ok());
  EXPECT_EQ(store_->ListOperations().value().back().details, "");
}

}  // namespace
}  // namespace assay::explore
