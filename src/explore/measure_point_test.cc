#include "explore/measure_point.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

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

TEST_F(MeasurePointTest, GpuMemoryThatOthersHeldMakesNoPointInvalid) {
  job::RunRecord record = EndedRun(job::RunEnd::kOutOfMemory, "CUDA out of memory");
  record.samples = {{"time_s", {0, 1}},
                    {"gpu0.utilization_percent", {0, 0}},
                    {"gpu0.memory_used_bytes", {2, 10}},
                    {"gpu0.memory_total_bytes", {10, 10}}};
  const PointResult result = MeasureWith(record);
  EXPECT_EQ(result.measurement.outcome, Outcome::kFailed);
  EXPECT_THAT(result.measurement.reason, HasSubstr("others held 2 B of GPU 0"));
  record.samples["gpu0.memory_used_bytes"] = {0, 10};
  EXPECT_EQ(MeasureWith(record).measurement.outcome, Outcome::kInvalid);
}

TEST_F(MeasurePointTest, GpuMemoryThatOthersTookDuringTheRunMakesNoPointInvalid) {
  job::Ended ended;
  ended.kind = job::EndKind::kOutOfMemory;
  ended.peak_tensor_bytes = 4;
  job::RunRecord record = EndedRun(job::RunEnd::kOutOfMemory, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED");
  record.events = {ended};
  record.event_seconds = {1};
  record.samples = {{"time_s", {0, 1, 2}},
                    {"gpu0.utilization_percent", {0, 0, 0}},
                    {"gpu0.memory_used_bytes", {0, 10, 1}},
                    {"gpu0.memory_total_bytes", {10, 10, 10}}};
  const PointResult result = MeasureWith(record);
  EXPECT_EQ(result.measurement.outcome, Outcome::kFailed);
  EXPECT_THAT(result.measurement.reason, HasSubstr("others held 6 B of GPU 0"));
  std::get<job::Ended>(record.events.front()).peak_tensor_bytes = 9;
  EXPECT_EQ(MeasureWith(record).measurement.outcome, Outcome::kInvalid);
}

TEST_F(MeasurePointTest, WhatTheRunsAllocatorKeptForReuseIsNotOthers) {
  job::Ended ended;
  ended.kind = job::EndKind::kOutOfMemory;
  ended.peak_tensor_bytes = 4;
  ended.peak_reserved_bytes = 9;
  job::RunRecord record = EndedRun(job::RunEnd::kOutOfMemory, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED");
  record.events = {ended};
  record.event_seconds = {1};
  record.samples = {{"time_s", {0, 1}},
                    {"gpu0.utilization_percent", {0, 0}},
                    {"gpu0.memory_used_bytes", {0, 10}},
                    {"gpu0.memory_total_bytes", {10, 10}}};
  EXPECT_EQ(MeasureWith(record).measurement.outcome, Outcome::kInvalid);
}

// That was judged by the host's memory; what others hold of a GPU has nothing to do with it.
TEST_F(MeasurePointTest, ARunThatTheKernelFoundOutOfMemoryIsNotJudgedByItsGpu) {
  job::RunRecord record = EndedRun(job::RunEnd::kOutOfMemory, "out of memory: the kernel's out-of-memory killer");
  record.signal = 9;
  record.samples = {{"time_s", {0, 1}},
                    {"gpu0.utilization_percent", {0, 0}},
                    {"gpu0.memory_used_bytes", {5, 5}},
                    {"gpu0.memory_total_bytes", {10, 10}}};
  const PointResult result = MeasureWith(record);
  EXPECT_EQ(result.measurement.outcome, Outcome::kInvalid);
  EXPECT_EQ(result.measurement.provenance.at("out_of_memory_found_by"), "kernel");
}

// It counts what is lost between tensors as the run's own, which samples cannot.
TEST_F(MeasurePointTest, TheAllocatorsOwnAccountDecidesWhoseTheGpuMemoryWas) {
  const std::string account =
      "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which 2.00 GiB is "
      "free. Of the allocated memory {} is allocated by PyTorch, and {} is reserved by PyTorch but unallocated. If "
      "reserved but unallocated memory is large";
  const auto outcome_of = [&](const char* allocated, const char* unallocated) {
    options_.replay = false;
    job::RunRecord record =
        EndedRun(job::RunEnd::kOutOfMemory, fmt::format(fmt::runtime(account), allocated, unallocated));
    return MeasureWith(record).measurement.outcome;
  };
  EXPECT_EQ(outcome_of("60.00 GiB", "16.00 GiB"), Outcome::kInvalid);
  EXPECT_EQ(outcome_of("60.00 GiB", "512.00 MiB"), Outcome::kFailed);
}

TEST_F(MeasurePointTest, ARefusalForMemoryHoldsWhereTheMachineAndNotItsNeighboursForbidIt) {
  constexpr int64_t kGib = int64_t{1} << 30;
  const auto outcome_of = [&](int64_t needed, int64_t free, int64_t total) {
    options_.replay = false;
    job::RunRecord record = EndedRun(job::RunEnd::kOutOfMemory, "this needs more than the machine has free");
    record.events.emplace_back(
        job::MemoryNeed{.tensor_bytes = needed - kGib, .mapped_bytes = kGib, .free_bytes = free, .total_bytes = total});
    return MeasureWith(record).measurement.outcome;
  };
  EXPECT_EQ(outcome_of(60 * kGib, 20 * kGib, 24 * kGib), Outcome::kInvalid);
  EXPECT_EQ(outcome_of(60 * kGib, 2 * kGib, 24 * kGib), Outcome::kInvalid) << "it would not fit an idle machine";
  EXPECT_EQ(outcome_of(22 * kGib, 20 * kGib, 24 * kGib), Outcome::kInvalid);
  EXPECT_EQ(outcome_of(22 * kGib, 4 * kGib, 24 * kGib), Outcome::kFailed);
}

TEST_F(MeasurePointTest, ARunThatDivergedIsInvalidAndNotRepeated) {
  const PointResult result = MeasureWith(EndedRun(job::RunEnd::kDiverged, "the loss of step 2 is nan"));
  EXPECT_EQ(result.measurement.outcome, Outcome::kInvalid);
  EXPECT_EQ(result.measurement.reason, "the loss of step 2 is nan");
  EXPECT_EQ(Measure(Point()).source, Source::kReplayed);
}

TEST_F(MeasurePointTest, WhatARuleForbidsDependsOnTheProgramsAlone) {
  const samplestore::Measurement measurement = Measure(Point({{"number_gpus", "3"}, {"gpu_model", "X"}})).measurement;
  EXPECT_EQ(measurement.depends_on, samplestore::Facts({{"judged_by", measurement.provenance.at("commit")}}));
}

/// The store holds that a point was forbidden without a run.
class VerdictTest : public MeasurePointTest {
 protected:
  static std::string Here(const char* name) {
    return Host::Look(/*look_for_gpus=*/false).provenance(/*uses_gpus=*/false).at(name);
  }

  Outcome OutcomeAfter(const samplestore::Facts& depends_on, Reuse reuse) {
    const experiment::BoundPoint point = Point();
    samplestore::Measurement judged = testing::MeasurementOf(point, "forbidden", Outcome::kInvalid);
    judged.depends_on = depends_on;
    EXPECT_TRUE(store_->Remove({}).ok() && store_->Append(judged).ok());
    options_.reuse = reuse;
    return Measure(point).measurement.outcome;
  }
};

TEST_F(VerdictTest, OfTheseProgramsOnThisMachineIsReplayed) {
  const ProvenanceMap here = {{"commit", Here("commit")}, {"machine", Here("machine")}};
  for (const FoundBy found_by : {FoundBy::kRule, FoundBy::kPlan}) {
    for (const Reuse reuse : AllReuses()) {
      EXPECT_EQ(OutcomeAfter(DependenciesOf(here, found_by), reuse), Outcome::kInvalid) << ToString(reuse);
    }
  }
}

TEST_F(VerdictTest, OfOtherProgramsIsJudgedAgain) {
  const ProvenanceMap there = {{"commit", "another"}, {"machine", Here("machine")}};
  for (const FoundBy found_by : {FoundBy::kRule, FoundBy::kPlan}) {
    for (const Reuse reuse : AllReuses()) {
      EXPECT_EQ(OutcomeAfter(DependenciesOf(there, found_by), reuse), Outcome::kValid) << ToString(reuse);
    }
  }
}

TEST_F(VerdictTest, OfAnotherMachineIsJudgedAgainWhereTheMachineCounted) {
  const ProvenanceMap there = {{"commit", Here("commit")}, {"machine", "another"}};
  for (const Reuse reuse : AllReuses()) {
    EXPECT_EQ(OutcomeAfter(DependenciesOf(there, FoundBy::kPlan), reuse), Outcome::kValid) << ToString(reuse);
    EXPECT_EQ(OutcomeAfter(DependenciesOf(there, FoundBy::kRule), reuse), Outcome::kInvalid) << ToString(reuse);
  }
}

TEST(DependenciesTest, RunsDependOnTheLibrariesThatTheyWereMadeOf) {
  const ProvenanceMap made = {{"commit", "c"}, {"libraries", "s3fs 1.0"}};
  EXPECT_EQ(DependenciesOf(made, FoundBy::kRun).at("libraries"), "s3fs 1.0");
  EXPECT_FALSE(DependenciesOf(made, FoundBy::kRule).contains("libraries"));
  EXPECT_FALSE(samplestore::Agrees(DependenciesOf(made, FoundBy::kRun), {{"commit", "c"}, {"libraries", "s3fs 1.1"}}));
}

// They kept verdicts as holding everywhere, or under the names that are compared of runs.
TEST_F(VerdictTest, OfOlderProgramsIsJudgedAgain) {
  const samplestore::Facts kept[] = {{},
                                     {{"machine", Here("machine")}},
                                     {{"commit", "another"}},
                                     {{"commit", "another"}, {"machine", Here("machine")}}};
  for (const samplestore::Facts& depends_on : kept) {
    for (const Reuse reuse : AllReuses()) {
      EXPECT_EQ(OutcomeAfter(depends_on, reuse), Outcome::kValid) << depends_on.size() << " " << ToString(reuse);
    }
  }
}

TEST_F(MeasurePointTest, ARunDependsOnItsMachineItsProgramsAndWhatItReads) {
  for (const auto& record : {testing::DoneRun(), EndedRun(job::RunEnd::kOutOfMemory, "out of memory")}) {
    options_.replay = false;
    const samplestore::Measurement measurement = MeasureWith(record).measurement;
    for (const char* name :
         {"machine", "commit", "libtorch", "settings", "points_at_once", "model_hash", "data_hash"}) {
      EXPECT_EQ(measurement.depends_on.at(name), measurement.provenance.at(name)) << name;
    }
  }
}

/// What the store has, as another machine or another program would have measured it.
class ReuseTest : public MeasurePointTest {
 protected:
  void StoreMeasuredWhere(const std::string& name, const std::string& value) {
    samplestore::Measurement measurement = Measure(Point()).measurement;
    ASSERT_TRUE(measurement.depends_on.contains(name)) << name;
    measurement.depends_on[name] = value;
    ASSERT_EQ(*store_->Remove({}), 1);
    ASSERT_TRUE(store_->Append(measurement).ok());
  }

  Source SourceWith(Reuse reuse) {
    options_.reuse = reuse;
    const PointResult result = Measure(Point());
    if (result.source == Source::kMeasured) {
      EXPECT_EQ(*store_->Remove({.uid = result.measurement.uid}), 1);
    }
    return result.source;
  }
};

TEST_F(ReuseTest, AnotherMachinesResultIsNotThisOnes) {
  StoreMeasuredWhere("machine", "a laptop");
  EXPECT_EQ(SourceWith(Reuse::kCommit), Source::kMeasured);
  EXPECT_EQ(SourceWith(Reuse::kMachine), Source::kMeasured);
  EXPECT_EQ(SourceWith(Reuse::kAnywhere), Source::kReplayed);
}

TEST_F(ReuseTest, AnotherCommitsResultIsReplayedOnlyOnRequest) {
  for (const char* name : {"commit", "libtorch", "settings"}) {
    ASSERT_TRUE(store_->Remove({}).ok());
    StoreMeasuredWhere(name, "another");
    EXPECT_EQ(SourceWith(Reuse::kCommit), Source::kMeasured) << name;
    EXPECT_EQ(SourceWith(Reuse::kMachine), Source::kReplayed) << name;
    EXPECT_EQ(SourceWith(Reuse::kAnywhere), Source::kReplayed) << name;
  }
}

TEST_F(ReuseTest, WhatSharedTheMachineWithOthersIsNoResultOfOneAlone) {
  StoreMeasuredWhere("points_at_once", "8");
  for (const Reuse reuse : AllReuses()) {
    EXPECT_EQ(SourceWith(reuse), Source::kMeasured) << ToString(reuse);
  }
  options_.points_at_once = 8;
  EXPECT_EQ(SourceWith(Reuse::kMachine), Source::kReplayed);
}

TEST_F(ReuseTest, EditedDataOrAnEditedModelIsMeasuredAnew) {
  ASSERT_EQ(Measure(Point()).source, Source::kMeasured);
  Write("rows.jsonl", "{\"input_ids\": [1, 2, 4], \"labels\": [1, 2, 4]}\n");
  options_.reuse = Reuse::kAnywhere;
  EXPECT_EQ(Measure(Point()).source, Source::kMeasured);
  EXPECT_EQ(Measure(Point()).source, Source::kReplayed);
  Write("model/config.json", R"({"model_type": "llama", "vocab_size": 101})");
  EXPECT_EQ(Measure(Point()).source, Source::kMeasured);
  Write("rows.jsonl", "{\"input_ids\": [1, 2, 3], \"labels\": [1, 2, 3]}\n");
  Write("model/config.json", R"({"model_type": "llama", "vocab_size": 100})");
  EXPECT_EQ(Measure(Point()).source, Source::kReplayed);
}

TEST_F(ReuseTest, RanksThatAreTooManyAreSoForThisKindOfMachine) {
  ASSERT_TRUE(MakeDirectories(Path("vit")).ok());
  Write("vit/config.json", R"({"model_type": "vit", "image_size": 32, "patch_size": 8, "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "id2label": {"0": "a", "1": "b"}})");
  const auto point =
      experiment::BindPoint(**experiment::FindExperiment("vit_plugin_benchmark-v1.0.0"),
                            std::map<std::string, std::string>{
                                {"plugin", "torch_ddp"},
                                {"batch_size", "4"},
                                {"model_name", Path("vit")},
                                {"number_gpus", "0"},
                                {"number_ranks", std::to_string(1 + 32 * std::thread::hardware_concurrency())}});
  ASSERT_TRUE(point.ok()) << point.status().message();
  const samplestore::Measurement measurement = Measure(*point).measurement;
  EXPECT_EQ(measurement.outcome, Outcome::kInvalid);
  EXPECT_THAT(measurement.reason, HasSubstr("too many"));
  EXPECT_EQ(measurement.depends_on.at("judged_on"), measurement.provenance.at("machine"));
  EXPECT_EQ(measurement.depends_on.at("judged_by"), measurement.provenance.at("commit"));
  EXPECT_FALSE(measurement.depends_on.contains("settings"));
}

TEST_F(MeasurePointTest, ARunThatStoodStillFails) {
  job::RunRecord record = testing::DoneRun();
  record.stood_still_seconds = 9;
  const PointResult result = MeasureWith(record);
  EXPECT_EQ(result.measurement.outcome, Outcome::kFailed);
  EXPECT_THAT(result.measurement.reason, HasSubstr("stood still for 9"));
  EXPECT_EQ(ExitCode(result.cause), 1);
}

TEST_F(MeasurePointTest, ARunThatWaitedForAProcessorIsMarked) {
  job::RunRecord record = testing::DoneRun();
  record.wall_seconds = 10;
  record.cpu_wait_seconds = 0.5;
  EXPECT_FALSE(MeasureWith(record).measurement.provenance.contains("starved"));
  record.cpu_wait_seconds = 4;
  options_.replay = false;
  EXPECT_EQ(MeasureWith(record).measurement.provenance.at("starved"), "waited for a processor for 4.00 s of 10.0 s");
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
  EXPECT_EQ(store_->TryClaim({point.parameterized_id, point.entity_id}, "other", 60, 1)->result,
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
  ASSERT_EQ(store_->TryClaim({point.parameterized_id, point.entity_id}, "other", 60, 1)->result,
            samplestore::ClaimResult::kClaimed);
  EXPECT_EQ(Measure(point).source, Source::kBusy);
  EXPECT_EQ(runs_, 0);
}

TEST_F(MeasurePointTest, HoldsTheClaimWhileItRuns) {
  const experiment::BoundPoint point = Point();
  options_.runner = [&](const job::Plan&, const launch::LaunchOptions&) -> Result<job::RunRecord> {
    EXPECT_EQ(OpenStore()->TryClaim({point.parameterized_id, point.entity_id}, "other", 60, 1)->result,
              samplestore::ClaimResult::kBusy);
    return testing::DoneRun();
  };
  EXPECT_EQ(Measure(point).source, Source::kMeasured);
}

}  // namespace
}  // namespace assay::explore
