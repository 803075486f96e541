#include "explore/space_measurements.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "explore/testing.h"

namespace assay::explore {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// `lengths` x two batch sizes.
experiment::BoundSpace Space(const std::string& lengths = "values: [64, 32]") {
  return experiment::BoundSpace::Bind(
             space::ParseDiscoverySpace(
                 fmt::format("entitySpace:\n"
                             " - {{identifier: model_name, propertyDomain: {{values: [smollm2-135m]}}}}\n"
                             " - {{identifier: number_gpus, propertyDomain: {{values: [0]}}}}\n"
                             " - {{identifier: model_max_length, propertyDomain: {{{}}}}}\n"
                             " - {{identifier: batch_size, propertyDomain: {{values: [1, 2]}}}}\n"
                             "experiments: [{{experimentIdentifier: finetune_full_benchmark-v1.0.0}}]\n"
                             "metadata: {{name: test}}\n",
                             lengths),
                 "space.yaml")
                 .value())
      .value();
}

class SpaceMeasurementsTest : public testing::ExploreFixture {
 protected:
  void Add(const experiment::BoundPoint& point, const std::string& uid, std::string host, Outcome outcome,
           std::string commit = "a1", std::map<std::string, std::string> conditions = {}) {
    Measurement measurement = testing::MeasurementOf(point, uid, outcome);
    measurement.provenance = {{"host", std::move(host)}, {"commit", std::move(commit)}};
    measurement.provenance.merge(conditions);
    ASSERT_TRUE(store_->Append(measurement).ok());
  }

  std::vector<std::string> Uids(const experiment::BoundSpace& space) {
    std::vector<std::string> uids;
    const std::vector<Measurement> found = MeasurementsOf(space, *store_, /*with_series=*/false).value();
    for (const Measurement& measurement : found) {
      uids.push_back(measurement.uid);
    }
    return uids;
  }
};

TEST_F(SpaceMeasurementsTest, EveryHostAndCommitIsKept) {
  const experiment::BoundSpace space = Space();
  Add(space.At(1), "old", "server", Outcome::kValid, "a1");
  Add(space.At(1), "new", "server", Outcome::kValid, "b2");
  Add(space.At(1), "other", "laptop", Outcome::kValid, "b2");
  Add(space.At(1), "again", "server", Outcome::kValid, "b2");
  Add(space.At(0), "first", "laptop", Outcome::kInvalid, "b2");
  EXPECT_THAT(Uids(space), ElementsAre("first", "other", "old", "new", "again"));
}

TEST_F(SpaceMeasurementsTest, FailedRunsCountOnlyWhereTheirHostHasNothingElse) {
  const experiment::BoundSpace space = Space();
  Add(space.At(0), "server failed", "server", Outcome::kFailed);
  Add(space.At(0), "server valid", "server", Outcome::kValid, "b2");
  Add(space.At(0), "laptop failed", "laptop", Outcome::kFailed);
  Add(space.At(0), "laptop failed again", "laptop", Outcome::kFailed);
  EXPECT_THAT(Uids(space), ElementsAre("laptop failed again", "server valid"));
}

TEST_F(SpaceMeasurementsTest, WhatIsNewerThanAnInvalidRunReplacesIt) {
  const experiment::BoundSpace space = Space();
  Add(space.At(0), "invalid", "server", Outcome::kInvalid);
  Add(space.At(0), "valid", "server", Outcome::kValid);
  Add(space.At(1), "earlier", "server", Outcome::kValid);
  Add(space.At(1), "forbidden", "server", Outcome::kInvalid);
  EXPECT_THAT(Uids(space), ElementsAre("valid", "forbidden"));
}

TEST_F(SpaceMeasurementsTest, AnInvalidRunSaysNothingOfOnesThatWereMadeOtherwise) {
  const experiment::BoundSpace space = Space();
  for (const char* name : {"settings", "libtorch", "machine", "model_hash", "data_hash", "tokenizer_hash"}) {
    ASSERT_TRUE(store_->Remove({}).ok());
    Add(space.At(0), "valid", "server", Outcome::kValid, "a1", {{name, "1"}});
    Add(space.At(0), "invalid", "server", Outcome::kInvalid, "a1", {{name, "2"}});
    EXPECT_THAT(Uids(space), ElementsAre("valid", "invalid")) << name;
  }
}

TEST_F(SpaceMeasurementsTest, OtherPointsOfTheStoreAreNoneOfTheSpace) {
  Add(Space("values: [128]").At(0), "elsewhere", "server", Outcome::kValid);
  EXPECT_THAT(Uids(Space()), IsEmpty());
}

// Walking through it would take hours.
TEST_F(SpaceMeasurementsTest, AHugeSpaceIsAskedOfTheStore) {
  const experiment::BoundSpace space = Space(
      "domainRange: [1, 131073], interval: 1}}\n"
      " - {identifier: seed, propertyDomain: {domainRange: [1, 2147483648], interval: 1");
  ASSERT_GT(space.size(), int64_t{1} << 48);
  Add(space.At(space.size() - 1), "last", "server", Outcome::kValid);
  Add(space.At(12345678901), "middle", "server", Outcome::kValid);
  EXPECT_THAT(Uids(space), ElementsAre("middle", "last"));
}

TEST_F(SpaceMeasurementsTest, ASmallSpaceInALargeStoreSaysTheSame) {
  const experiment::BoundSpace space = Space();
  for (int i = 0; i < 60; ++i) {
    Add(space.At(i % 3), fmt::format("run {}", i), "server", Outcome::kValid);
  }
  Add(Space("values: [128]").At(0), "of another", "server", Outcome::kValid);
  const auto points = PointsInStore(space, *store_).value();
  ASSERT_EQ(points.size(), 3);
  EXPECT_EQ(points.at(2).entity_id, space.At(2).entity_id);
  EXPECT_EQ(Uids(space).size(), 60);
  EXPECT_EQ(UnmeasuredOf(space, MeasurementsOf(space, *store_, /*with_series=*/false).value()).size(), 1);
}

}  // namespace
}  // namespace assay::explore
