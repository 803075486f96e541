#include "explore/measure_point.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "explore/testing.h"

namespace assay::explore {
namespace {

using samplestore::Outcome;
using ::testing::ElementsAre;
using testing::EndedRun;
using ::testing::HasSubstr;

class MeasurePointTest : public testing::ExploreFixture {
 protected:
  experiment::BoundPoint Point(std::map<std::string, std::string> changes = {}) {
    changes.try_emplace("model_name", Path("model"));
    changes.try_emplace("dataset_id", Path("rows.jsonl"));
    changes.try_emplace("model_max_length", "64");
    changes.try_emplace("batch_size", "4");
    changes.try_emplace("number_gpus", "0");
    return experiment::BindPoint(**experiment::FindExperiment("finetune_full_benchmark-v1.0.0"), changes).value();
  }

  PointResult Measure(const experiment::BoundPoint& point) {
    auto result = MeasurePoint(point, *store_, options_);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *std::move(result) : PointResult();
  }

  /// The worker's run ends as `record` says.
  PointResult MeasureWith(const job::RunRecord& record) {
    options_.runner = [record](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
      return record;
    };
    return Measure(Point());
  }
};

TEST_F(MeasurePointTest, MeasuresAndRecords) {
  std::vector<std::string> phases;
  options_.on_phase = [&](std::string_view phase) { phases.emplace_back(phase); };
  const PointResult result = Measure(Point());
  EXPECT_EQ(result.source, Source::kMeasured);
  EXPECT_EQ(result.measurement.outcome, Outcome::kValid);
  EXPECT_EQ(result.measurement.entity.size(), 4U);
  EXPECT_THAT(result.measurement.parameterized_id, HasSubstr("-dataset_id."));
  EXPECT_EQ(result.measurement.properties.at("real_tokens_per_second"), space::Value(400.0));
  EXPECT_EQ(result.measurement.units.at("train_runtime"), "s");
  EXPECT_THAT(phases, ElementsAre("preparing", "running", "measuring"));
  for (const char* name : {"host", "cpu", "cores", "memory", "version", "commit", "libtorch", "device", "model_hash",
                           "data_hash", "weights"}) {
    EXPECT_FALSE(result.measurement.provenance.at(name).empty()) << name;
  }
  const auto stored = store_->FindMeasured(samplestore::KeyOf(result.measurement));
  ASSERT_TRUE(stored.ok() && stored->has_value());
  EXPECT_EQ((*stored)->uid, result.measurement.uid);
}

TEST_F(MeasurePointTest, ReplaysWhatIsMeasuredWithoutLaunching) {
  const PointResult first = Measure(Point());
  const PointResult second = Measure(Point({{"flash_attn", "True"}}));  // the default, said aloud
  EXPECT_EQ(second.source, Source::kReplayed);
  EXPECT_EQ(second.measurement.uid, first.measurement.uid);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(Measure(Point({{"seed", "1"}})).source, Source::kMeasured);
  EXPECT_EQ(runs_, 2);
}

TEST_F(MeasurePointTest, MeasuresAgainOnRequest) {
  Measure(Point());
  options_.replay = false;
  EXPECT_EQ(Measure(Point()).source, Source::kMeasured);
  EXPECT_EQ(*store_->Count({}), 2);
}

TEST_F(MeasurePointTest, AModelThatCannotBeDividedMakesAPointInvalid) {
  ASSERT_TRUE(MakeDirectories(Path("vit")).ok());
  Write("vit/config.json", R"({"model_type": "vit", "image_size": 32, "patch_size": 8, "hidden_size": 60,
      "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 128, "id2label": {"0": "a", "1": "b"}})");
  const PointResult result =
      Measure(experiment::BindPoint(**experiment::FindExperiment("vit_plugin_benchmark-v1.0.0"),
                                    std::map<std::string, std::string>{{"plugin", "hybrid_parallel"},
                                                                       {"batch_size", "4"},
                                                                       {"model_name", Path("vit")},
                                                                       {"number_gpus", "0"},
                                                                       {"number_ranks", "2"},
                                                                       {"tp_size", "2"},
                                                                       {"pp_size", "1"}})
                  .value());
  EXPECT_EQ(result.measurement.outcome, Outcome::kInvalid);
  EXPECT_THAT(result.measurement.reason, HasSubstr("3 attention heads do not divide by tp_size 2"));
  EXPECT_EQ(runs_, 0);
}

TEST_F(MeasurePointTest, ARuleMakesAPointInvalidBeforeAnythingIsLaunched) {
  const experiment::BoundPoint point = Point({{"number_gpus", "3"}, {"gpu_model", "X"}});
  const PointResult result = Measure(point);
  EXPECT_EQ(result.measurement.outcome, Outcome::kInvalid);
  EXPECT_THAT(result.measurement.reason, HasSubstr("not a multiple of number_gpus 3"));
  EXPECT_EQ(result.measurement.properties.at("is_valid"), space::Value(int64_t{0}));
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(Measure(point).source, Source::kReplayed);
}

TEST_F(MeasurePointTest, OutOfMemoryIsInvalidAndNotRepeated) {
  const PointResult result = MeasureWith(EndedRun(job::RunEnd::kOutOfMemory, "out of memory: budget of 1 GiB"));
  EXPECT_EQ(result.measurement.outcome, Outcome::kInvalid);
  EXPECT_EQ(result.measurement.reason, "out of memory: budget of 1 GiB");
  EXPECT_EQ(result.measurement.provenance.at("out_of_memory_found_by"), "worker");
  EXPECT_TRUE(result.cause.ok());
  EXPECT_EQ(Measure(Point()).source, Source::kReplayed);
}

TEST_F(MeasurePointTest, ARunThatDivergedIsInvalidAndNotRepeated) {
  const PointResult result = MeasureWith(EndedRun(job::RunEnd::kDiverged, "the loss of step 2 is nan"));
  EXPECT_EQ(result.measurement.outcome, Outcome::kInvalid);
  EXPECT_EQ(result.measurement.reason, "the loss of step 2 is nan");
  EXPECT_EQ(Measure(Point()).source, Source::kReplayed);
}

TEST_F(MeasurePointTest, AFailureIsKeptAndRepeated) {
  const PointResult result = MeasureWith(EndedRun(job::RunEnd::kKilled, "killed by signal 9 (SIGKILL)"));
  EXPECT_EQ(result.measurement.outcome, Outcome::kFailed);
  EXPECT_EQ(result.measurement.provenance.at("stderr"), "last words");
  EXPECT_EQ(ExitCode(result.cause), 1);
  EXPECT_EQ(MeasureWith(testing::DoneRun()).measurement.outcome, Outcome::kValid);
  EXPECT_EQ(*store_->Count({}), 2);
}

TEST_F(MeasurePointTest, WhatTheWorkerRefusesIsTheUsersMistake) {
  const PointResult result = MeasureWith(EndedRun(job::RunEnd::kInvalid, "config.json: no hidden_size"));
  EXPECT_EQ(result.measurement.outcome, Outcome::kFailed);
  EXPECT_EQ(ExitCode(result.cause), 2);
}

TEST_F(MeasurePointTest, ARunWithoutAStepFails) {
  EXPECT_THAT(MeasureWith(testing::DoneRun(0)).measurement.reason, HasSubstr("made no step"));
}

TEST_F(MeasurePointTest, AMissingModelFailsThePointByItsCause) {
  const PointResult result = Measure(Point({{"model_name", "/nonexistent/model"}}));
  EXPECT_EQ(result.measurement.outcome, Outcome::kFailed);
  EXPECT_EQ(result.cause.code(), ErrorCode::kNotFound);
  EXPECT_EQ(runs_, 0);
}

TEST_F(MeasurePointTest, AnInterruptRecordsNothingAndFreesTheClaim) {
  options_.runner = [](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    return EndedRun(job::RunEnd::kInterrupted, "interrupted after step 1");
  };
  const experiment::BoundPoint point = Point();
  EXPECT_EQ(MeasurePoint(point, *store_, options_).status().code(), ErrorCode::kAborted);
  EXPECT_EQ(*store_->Count({}), 0);
  EXPECT_EQ(*store_->TryClaim({point.parameterized_id, point.entity_id}, "other", 60, 1),
            samplestore::ClaimResult::kClaimed);
}

TEST_F(MeasurePointTest, AWorkerThatCannotStartIsNotThePointsFailure) {
  options_.runner = [](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    return Status::NotFound("cannot start a worker");
  };
  EXPECT_EQ(MeasurePoint(Point(), *store_, options_).status().message(), "cannot start a worker");
  EXPECT_EQ(*store_->Count({}), 0);
}

TEST_F(MeasurePointTest, APointThatSomebodyElseMeasuresIsBusy) {
  const experiment::BoundPoint point = Point();
  ASSERT_EQ(*store_->TryClaim({point.parameterized_id, point.entity_id}, "other", 60, 1),
            samplestore::ClaimResult::kClaimed);
  EXPECT_EQ(Measure(point).source, Source::kBusy);
  EXPECT_EQ(runs_, 0);
}

TEST_F(MeasurePointTest, HoldsTheClaimWhileItRuns) {
  const experiment::BoundPoint point = Point();
  options_.runner = [&](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    EXPECT_EQ(*OpenStore()->TryClaim({point.parameterized_id, point.entity_id}, "other", 60, 1),
              samplestore::ClaimResult::kBusy);
    return testing::DoneRun();
  };
  EXPECT_EQ(Measure(point).source, Source::kMeasured);
}

}  // namespace
}  // namespace assay::explore
