#include "explore/operation/apply_walk.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "explore/testing.h"

namespace assay::explore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WalkTest : public testing::ExploreFixture {
 protected:
  /// Lengths 64 and 32 x batches 1 and 2 under two experiments: eight points.
  experiment::BoundSpace Space() {
    std::string experiments;
    for (const char* name : {"finetune_full_benchmark-v1.0.0", "finetune_lora_benchmark-v1.0.0"}) {
      experiments += fmt::format(
          " - experimentIdentifier: {}\n   parameterization: [{{property: {{identifier: dataset_id}}, value: '{}'}}]\n",
          name, Path("rows.jsonl"));
    }
    const std::string text = fmt::format(
        "entitySpace:\n"
        " - {{identifier: model_name, propertyDomain: {{values: ['{}']}}}}\n"
        " - {{identifier: number_gpus, propertyDomain: {{values: [0]}}}}\n"
        " - {{identifier: model_max_length, propertyDomain: {{values: [64, 32]}}}}\n"
        " - {{identifier: batch_size, propertyDomain: {{values: [1, 2]}}}}\n"
        "experiments:\n{}",
        Path("model"), experiments);
    return experiment::BoundSpace::Bind(space::ParseDiscoverySpace(text, "space.yaml").value()).value();
  }

  /// Measures the point now, so that it holds here.
  void Measure(const experiment::BoundSpace& space, const std::vector<int64_t>& indexes) {
    for (const int64_t index : indexes) {
      ASSERT_TRUE(MeasurePoint(space.At(index), *store_, options_).ok());
    }
    runs_ = 0;
  }

  /// The points that the walk looked at, in its order; the last message where it was refused.
  std::vector<int64_t> Walk(const RandomWalk& walk) {
    const experiment::BoundSpace space = Space();
    ExploreOptions options{.measure = options_};
    refusal_ = UseWalk({.source = "walk.yaml", .walk = walk}, space, *store_, /*seed=*/1, options);
    std::vector<int64_t> seen;
    if (!refusal_.ok()) {
      return seen;
    }
    const ExploreCallbacks callbacks{.on_done = [&](const PointDone& done) { seen.push_back(done.index); }};
    const auto summary = Explore(space, *store_, options, callbacks);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary->remaining, 0);
    return seen;
  }

  static RandomWalk All() { return {.entities = -1, .random = false, .from_store = false}; }

  Status refusal_;
};

TEST_F(WalkTest, AnEntityCountsOnceForAllItsExperiments) {
  RandomWalk walk = All();
  walk.entities = 2;
  EXPECT_THAT(Walk(walk), ElementsAre(0, 1, 2, 3));
  walk.entities = -1;
  walk.grouped_by = {"batch_size"};
  EXPECT_THAT(Walk(walk), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST_F(WalkTest, FiltersGoByHowManyExperimentsMeasuredAnEntity) {
  Measure(Space(), {0, 1, 4});  // of the first entity both, of the third one
  RandomWalk walk = All();
  walk.filter = EntityFilter::kMeasured;
  EXPECT_THAT(Walk(walk), ElementsAre(0, 1));
  EXPECT_EQ(runs_, 0);
  walk.filter = EntityFilter::kUnmeasured;
  walk.entities = 1;
  EXPECT_THAT(Walk(walk), ElementsAre(2, 3));
  walk.entities = -1;
  walk.filter = EntityFilter::kPartial;
  runs_ = 0;
  EXPECT_THAT(Walk(walk), ElementsAre(4, 5));
  EXPECT_EQ(runs_, 1);
  EXPECT_THAT(Walk(walk), IsEmpty());  // it is whole now
}

TEST_F(WalkTest, ASelectorTakesWhatTheStoreHas) {
  RandomWalk walk = {.entities = -1, .random = true};
  EXPECT_THAT(Walk(walk), IsEmpty());
  Measure(Space(), {4});
  EXPECT_THAT(Walk(walk), ElementsAre(4, 5));
  walk.entities = 3;
  EXPECT_THAT(Walk(walk), IsEmpty());
  EXPECT_THAT(refusal_.message(), HasSubstr("walk.yaml: 'numberEntities' is 3, more than the 1 that"));
}

TEST_F(WalkTest, WithoutSingleMeasurementWhatIsThereIsMeasuredAgain) {
  RandomWalk walk = All();
  EXPECT_EQ(std::ssize(Walk(walk)), 8);
  EXPECT_EQ(runs_, 8);
  EXPECT_EQ(std::ssize(Walk(walk)), 8);
  EXPECT_EQ(runs_, 8);
  walk.single_measurement = false;
  EXPECT_EQ(std::ssize(Walk(walk)), 8);
  EXPECT_EQ(runs_, 16);
}

TEST_F(WalkTest, WhatWasMeasuredOneByOneIsReplayed) {
  const experiment::BoundSpace space = Space();
  ASSERT_TRUE(Explore(space, *store_, {.measure = options_}, {}).ok());
  ASSERT_EQ(runs_, 8);
  EXPECT_EQ(std::ssize(Walk(All())), 8);
  EXPECT_EQ(runs_, 8);
}

TEST_F(WalkTest, ABatchIsOfPointsHereAndOfEntitiesElsewhere) {
  const experiment::BoundSpace space = Space();
  const auto options_of = [&](const RandomWalk& walk, const std::string& elsewhere) {
    ExploreOptions options{.measure = options_};
    options.measure.context.elsewhere = elsewhere;
    EXPECT_TRUE(UseWalk({.source = "walk.yaml", .walk = walk}, space, *store_, /*seed=*/1, options).ok());
    return options;
  };
  RandomWalk walk = All();
  walk.batch_size = 3;
  walk.max_retries = 2;
  EXPECT_EQ(options_of(walk, "").workers, 3);
  EXPECT_EQ(options_of(walk, "cluster").workers, 6) << "each under both experiments";
  EXPECT_EQ(options_of(walk, "").retries, 2);
  walk.batch_size = int64_t{1} << 62;
  EXPECT_EQ(options_of(walk, "").workers, 8);
}

TEST_F(WalkTest, MistakesNameTheFile) {
  RandomWalk walk = All();
  walk.grouped_by = {"batchsize"};
  EXPECT_THAT(Walk(walk), IsEmpty());
  EXPECT_THAT(refusal_.message(),
              HasSubstr("'grouping' names 'batchsize', which is no property of space.yaml; did you mean batch_size?"));
  walk = All();
  walk.entities = 5;
  EXPECT_THAT(Walk(walk), IsEmpty());
  EXPECT_THAT(refusal_.message(), HasSubstr("more than the 4 that the space has"));
}

}  // namespace
}  // namespace assay::explore
