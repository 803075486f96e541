// Every figure here is worked out by hand from the definitions of docs/experiments.md.

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <string>

#include "base/files.h"
#include "data/token_file.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

using ::testing::HasSubstr;

/// Steps of 2 x 2 rows on a data set of rows with 10, 20 and 30 tokens, cut to 25.
class FineTuningMeasureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("measure");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    std::vector<data::TokenRow> rows;
    for (const int length : {10, 20, 30}) {
      rows.push_back({std::vector<int32_t>(length, 1), std::vector<int32_t>(length, 1), 0});
    }
    Tune().tokens_file = directory_->path() + "/rows.tokens";
    ASSERT_TRUE(data::WriteTokenFile(Tune().tokens_file, rows, 100).ok());
    Tune().model_max_length = 25;
    Tune().batch_size = 2;
    Tune().gradient_accumulation_steps = 2;
    Tune().max_steps = 20;
    plan_.seconds = 0.5;
  }

  /// A run of `seconds.size()` steps, each with 40 real, 10 padded and 30 supervised tokens.
  job::RunRecord Record(const std::vector<double>& seconds, job::Ended ended = {}) {
    job::Loaded loaded;
    loaded.seconds = 1.5;
    loaded.rows = 3;
    loaded.planned_steps = 20;
    loaded.parameters = 1000;
    loaded.trainable_parameters = 10;
    loaded.peak_tensor_bytes = 11;
    job::RunRecord record;
    record.events = {job::Started{}, loaded};
    for (size_t i = 0; i < seconds.size(); ++i) {
      job::Step step;
      step.step = static_cast<int64_t>(i) + 1;
      step.loss = 3.0 - 0.1 * static_cast<double>(i);
      step.grad_norm = 1;
      step.seconds = seconds[i];
      step.samples = 4;
      step.real_tokens = 40;
      step.padded_tokens = 10;
      step.supervised_tokens = 30;
      step.forward_peak_bytes = 100 + static_cast<int64_t>(i);
      step.backward_peak_bytes = 200;
      step.optimizer_peak_bytes = 300;
      record.events.emplace_back(step);
    }
    for (const int64_t peak : {401, 10}) {
      record.events.emplace_back(job::MemoryLedger{.source = "predicted", .peak_bytes = peak});
    }
    ended.peak_tensor_bytes = 400;
    record.events.emplace_back(ended);
    record.event_seconds.assign(record.events.size(), 0.0);
    record.samples = {{"time_s", {0, 1, 2}}, {"cpu_process_percent", {0, 100, 200}}};
    record.max_rss_bytes = 5000;
    record.overhead_seconds = 0.25;
    record.end = job::RunEnd::kDone;
    return record;
  }

  static job::Ended After(double train_runtime) {
    job::Ended ended;
    ended.train_runtime = train_runtime;
    return ended;
  }

  std::map<std::string, space::Value> Values(const job::RunRecord& record) {
    const auto measured = MeasureFineTuning(testing::CompletePoint(testing::kFull), plan_, record);
    EXPECT_TRUE(measured.ok()) << measured.status().message();
    return measured.ok() ? measured->properties : std::map<std::string, space::Value>();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  job::TunePlan& Tune() { return std::get<job::TunePlan>(plan_.work); }

  RunPlan plan_;
};

double Number(const std::map<std::string, space::Value>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) {
    return std::nan("");
  }
  const auto* integer = std::get_if<int64_t>(&found->second);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(found->second);
}

TEST_F(FineTuningMeasureTest, TheReferencesDefinitionsCountWhatWasPlanned) {
  const auto values = Values(Record({1, 1, 1, 1, 1}, After(5)));
  EXPECT_EQ(Number(values, "is_valid"), 1);
  EXPECT_DOUBLE_EQ(Number(values, "train_runtime"), 5);
  EXPECT_DOUBLE_EQ(Number(values, "train_samples_per_second"), 20 * 4 / 5.0);
  EXPECT_DOUBLE_EQ(Number(values, "train_steps_per_second"), 20 / 5.0);
  EXPECT_DOUBLE_EQ(Number(values, "train_tokens_per_second"), 20 * 50 / 5.0);
  EXPECT_DOUBLE_EQ(Number(values, "train_tokens_per_gpu_per_second"), 20 * 50 / 5.0);
  // 20 rows in file order: six times (10 + 20 + 25), then 10 and 20.
  EXPECT_DOUBLE_EQ(Number(values, "dataset_tokens_per_second"), (6 * 55 + 30) / 5.0);
  EXPECT_DOUBLE_EQ(Number(values, "dataset_tokens_per_second_per_gpu"), (6 * 55 + 30) / 5.0);
}

TEST_F(FineTuningMeasureTest, ByEpochsThePlannedSamplesAreTheRows) {
  Tune().max_steps = -1;
  Tune().num_train_epochs = 3;
  EXPECT_DOUBLE_EQ(Number(Values(Record({1, 1}, After(2))), "train_samples_per_second"), 3 * 3 / 2.0);
}

TEST_F(FineTuningMeasureTest, StopAfterSecondsLeavesOutThePlannedTokens) {
  Tune().stop_after_seconds = 2;
  const auto values = Values(Record({1, 1}, After(2)));
  EXPECT_FALSE(values.contains("train_tokens_per_second"));
  EXPECT_FALSE(values.contains("train_tokens_per_gpu_per_second"));
  EXPECT_TRUE(values.contains("real_tokens_per_second"));
}

TEST_F(FineTuningMeasureTest, ExactValuesCountWhatWasDone) {
  const auto values = Values(Record({1, 1, 1, 1, 1}, After(5)));
  EXPECT_DOUBLE_EQ(Number(values, "real_tokens_per_second"), 40);
  EXPECT_DOUBLE_EQ(Number(values, "supervised_tokens_per_second"), 30);
  EXPECT_DOUBLE_EQ(Number(values, "samples_per_second_exact"), 4);
  EXPECT_DOUBLE_EQ(Number(values, "steps_per_second_exact"), 1);
  EXPECT_EQ(Number(values, "samples"), 20);
  EXPECT_EQ(Number(values, "real_tokens"), 200);
  EXPECT_EQ(Number(values, "padded_tokens"), 50);
  EXPECT_EQ(Number(values, "supervised_tokens"), 150);
  EXPECT_EQ(Number(values, "training_steps"), 5);
  EXPECT_DOUBLE_EQ(Number(values, "step_seconds_median"), 1);
  EXPECT_DOUBLE_EQ(Number(values, "initial_loss"), 3);
  EXPECT_DOUBLE_EQ(Number(values, "final_loss"), 2.6);
  EXPECT_EQ(Number(values, "peak_tensor_bytes"), 400);
  EXPECT_EQ(Number(values, "predicted_peak_bytes"), 401);
  EXPECT_EQ(Number(values, "load_peak_tensor_bytes"), 11);
  EXPECT_EQ(Number(values, "forward_peak_tensor_bytes"), 104);
  EXPECT_EQ(Number(values, "backward_peak_tensor_bytes"), 200);
  EXPECT_EQ(Number(values, "optimizer_peak_tensor_bytes"), 300);
  EXPECT_EQ(Number(values, "max_rss_bytes"), 5000);
  EXPECT_DOUBLE_EQ(Number(values, "model_load_time"), 1.5);
  EXPECT_DOUBLE_EQ(Number(values, "overhead_seconds"), 0.25);
}

TEST_F(FineTuningMeasureTest, WarmupIsLeftOutOfTimeTokensAndSteps) {
  job::Ended ended = After(16);
  ended.warmup_steps = 2;
  ended.warmup_seconds = 12;
  const auto values = Values(Record({10, 2, 1, 1, 1, 1}, ended));
  EXPECT_DOUBLE_EQ(Number(values, "train_runtime"), 4);
  EXPECT_DOUBLE_EQ(Number(values, "train_runtime_total"), 16);
  EXPECT_DOUBLE_EQ(Number(values, "real_tokens_per_second"), 160 / 4.0);
  EXPECT_DOUBLE_EQ(Number(values, "step_seconds_median"), 1);
  EXPECT_DOUBLE_EQ(Number(values, "first_step_seconds"), 10);
  // The reference does not correct its planned speeds for warm-up.
  EXPECT_DOUBLE_EQ(Number(values, "train_steps_per_second"), 20 / 16.0);
  // Rows 8 to 23 in file order: rows 0 to 23 are 8 times 55, rows 0 to 7 twice 55 and 10 + 20.
  EXPECT_DOUBLE_EQ(Number(values, "dataset_tokens_per_second"), (8 * 55 - 2 * 55 - 30) / 4.0);
  EXPECT_EQ(Number(values, "real_tokens"), 240);
}

TEST_F(FineTuningMeasureTest, TheFirstStepIsTheWarmUpWhereThereIsNoOther) {
  const auto values = Values(Record({4, 1, 1, 1, 1}, After(8)));
  EXPECT_DOUBLE_EQ(Number(values, "train_runtime"), 8) << "the reference counts it";
  EXPECT_EQ(Number(values, "measured_steps"), 4);
  EXPECT_DOUBLE_EQ(Number(values, "measured_seconds"), 4);
  EXPECT_DOUBLE_EQ(Number(values, "real_tokens_per_second"), 40);
  EXPECT_DOUBLE_EQ(Number(values, "samples_per_second_exact"), 4);
  EXPECT_DOUBLE_EQ(Number(values, "step_seconds_p90"), 1);
  EXPECT_DOUBLE_EQ(Number(values, "dataset_tokens_per_second"), (6 * 55 + 30) / 8.0);
  EXPECT_DOUBLE_EQ(Number(Values(Record({4}, After(4))), "real_tokens_per_second"), 10) << "there is no other";
}

TEST_F(FineTuningMeasureTest, TheIntervalHoldsTheRateAndShrinksWithTheSpread) {
  const auto wide = Values(Record({3, 0.5, 0.6, 1.5, 1.4, 0.7, 1.3, 0.9, 1.1}, After(11)));
  const auto narrow = Values(Record({3, 0.99, 0.98, 1.01, 1.02, 1, 1, 0.99, 1.01}, After(11)));
  for (const auto& values : {wide, narrow}) {
    EXPECT_LT(Number(values, "real_tokens_per_second_ci_low"), Number(values, "real_tokens_per_second"));
    EXPECT_GT(Number(values, "real_tokens_per_second_ci_high"), Number(values, "real_tokens_per_second"));
  }
  EXPECT_LT(Number(narrow, "real_tokens_per_second_ci_high"), Number(wide, "real_tokens_per_second_ci_high"));
}

TEST_F(FineTuningMeasureTest, SevenMeasuredStepsMakeNoInterval) {
  const auto values = Values(Record({1, 1, 1.1, 1, 1.1, 1, 1.1, 1}, After(8.3)));
  EXPECT_EQ(Number(values, "measured_steps"), 7);
  EXPECT_FALSE(values.contains("real_tokens_per_second_ci_low"));
  EXPECT_FALSE(values.contains("real_tokens_per_second_ci_high"));
}

TEST_F(FineTuningMeasureTest, UtilisationIsThatOfTheTimeInTraining) {
  job::RunRecord record = Record({1, 1}, After(2));
  // Loaded, the second event, came after a second: only the sample at 2 s, of the interval from 1 s, counts.
  record.event_seconds[1] = 1.0;
  EXPECT_DOUBLE_EQ(Number(Values(record), "cpu_compute_utilization"), 200);
  EXPECT_DOUBLE_EQ(Number(Values(Record({1, 1}, After(2))), "cpu_compute_utilization"), 150);
}

/// With the samples of a GPU that counts its energy.
job::RunRecord OnGpu(job::RunRecord record) {
  for (const char* column : {"utilization_percent", "memory_used_bytes", "memory_total_bytes", "power_watts",
                             "power_percent", "energy_joules"}) {
    record.samples[std::string("gpu0.") + column] = {100, 110, 130};
  }
  return record;
}

TEST_F(FineTuningMeasureTest, WorkForEachJouleIsKnownWhereEnergyIs) {
  const auto without = Values(Record(std::vector<double>(9, 1), After(9)));
  EXPECT_FALSE(without.contains("tokens_per_joule"));
  const auto with = Values(OnGpu(Record(std::vector<double>(9, 1), After(9))));
  ASSERT_GT(Number(with, "gpu_energy_joules"), 0);
  EXPECT_DOUBLE_EQ(Number(with, "tokens_per_joule"), 9 * 40 / Number(with, "gpu_energy_joules"));
}

TEST_F(FineTuningMeasureTest, EveryValueIsADeclaredTargetWithItsUnit) {
  const auto measured = MeasureFineTuning(testing::CompletePoint(testing::kFull), plan_,
                                          OnGpu(Record(std::vector<double>(9, 1), After(9))));
  ASSERT_TRUE(measured.ok());
  std::set<std::string> declared;
  for (const TargetSpec& target : FineTuningTargets()) {
    declared.insert(target.name);
    EXPECT_TRUE(measured->properties.contains(target.name)) << target.name << " is declared, but not measured";
    EXPECT_EQ(measured->units.contains(target.name), !target.unit.empty()) << target.name;
  }
  for (const auto& [name, value] : measured->properties) {
    EXPECT_TRUE(declared.contains(name)) << name << " is measured, but not declared";
  }
}

TEST_F(FineTuningMeasureTest, KeepsTheSeriesOfStepsAndSamples) {
  const auto measured = MeasureFineTuning(testing::CompletePoint(testing::kFull), plan_, Record({1, 2}, After(3)));
  ASSERT_TRUE(measured.ok());
  EXPECT_THAT(measured->series.at("step_seconds"), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(measured->series.at("step_real_tokens"), ::testing::ElementsAre(40, 40));
  EXPECT_EQ(measured->series.at("time_s").size(), 3U);
}

TEST_F(FineTuningMeasureTest, WhatIsNoMeasurementIsAnError) {
  const space::Entity point = testing::CompletePoint(testing::kFull);
  EXPECT_THAT(MeasureFineTuning(point, plan_, Record({}, After(1))).status().message(), HasSubstr("made no step"));
  job::RunRecord diverged = Record({1, 1}, After(2));
  std::get<job::Step>(diverged.events[3]).loss = std::nan("");
  const Status status = MeasureFineTuning(point, plan_, diverged).status();
  EXPECT_THAT(status.message(), HasSubstr("loss of step 2 is nan"));
  EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition) << "the point is invalid";
  job::Ended only_warmup = After(2);
  only_warmup.warmup_steps = 2;
  EXPECT_THAT(MeasureFineTuning(point, plan_, Record({1, 1}, only_warmup)).status().message(),
              HasSubstr("no step after its warm-up"));
  job::RunRecord odd = Record({1, 1}, After(2));
  odd.overhead_seconds = std::numeric_limits<double>::infinity();
  EXPECT_THAT(MeasureFineTuning(point, plan_, odd).status().message(), HasSubstr("overhead_seconds is inf"));
}

TEST_F(FineTuningMeasureTest, ARunWhoseLastStepTheLossScalerSkippedIsValid) {
  job::RunRecord record = Record({1, 1, 1}, After(3));
  std::get<job::Step>(record.events[3]).grad_norm = 2;
  auto& last = std::get<job::Step>(record.events[4]);
  last.skipped = true;
  last.grad_norm = std::numeric_limits<double>::infinity();
  const auto values = Values(record);
  EXPECT_EQ(Number(values, "is_valid"), 1);
  EXPECT_EQ(Number(values, "final_grad_norm"), 2);
  EXPECT_DOUBLE_EQ(Number(values, "final_loss"), 2.8);
}

TEST_F(FineTuningMeasureTest, ARunThatTrainedNothingIsInvalid) {
  const space::Entity point = testing::CompletePoint(testing::kFull);
  job::RunRecord skipped = Record({1, 1}, After(2));
  job::RunRecord infinite = Record({1, 1}, After(2));
  for (const size_t event : {2, 3}) {
    std::get<job::Step>(skipped.events[event]).skipped = true;
  }
  std::get<job::Step>(infinite.events[3]).grad_norm = std::numeric_limits<double>::infinity();
  const Status all_skipped = MeasureFineTuning(point, plan_, skipped).status();
  EXPECT_EQ(all_skipped.code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(all_skipped.message(), HasSubstr("all 2 steps overflowed"));
  const Status diverged = MeasureFineTuning(point, plan_, infinite).status();
  EXPECT_EQ(diverged.code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(diverged.message(), HasSubstr("gradient norm of step 2 is inf"));
}

TEST_F(FineTuningMeasureTest, AStepAfterTheWarmUpThatIsLessThanTrainingMakesThePointInvalid) {
  for (const size_t event : {2, 4}) {
    job::RunRecord record = Record({1, 1, 1}, After(3));
    std::get<job::Step>(record.events[event]).forward_only = 2;
    const Status status = MeasureFineTuning(testing::CompletePoint(testing::kFull), plan_, record).status();
    EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition) << "the reference's time has the first step in it, too";
    EXPECT_THAT(status.message(), HasSubstr("2 micro-batches after the warm-up bore no loss at model_max_length 25"));
  }
}

TEST_F(FineTuningMeasureTest, AStepOfTheWarmUpMayBearNoLoss) {
  job::Ended ended = After(3);
  ended.warmup_steps = 1;
  ended.warmup_seconds = 1;
  job::RunRecord record = Record({1, 1, 1}, ended);
  auto& first = std::get<job::Step>(record.events[2]);
  first.forward_only = 2;
  first.supervised_tokens = 0;
  first.loss = 0;
  const auto values = Values(record);
  EXPECT_EQ(Number(values, "is_valid"), 1);
  EXPECT_DOUBLE_EQ(Number(values, "initial_loss"), 2.9) << "that of the first step that bore any";
  const auto measured = MeasureFineTuning(testing::CompletePoint(testing::kFull), plan_, record);
  EXPECT_THAT(measured->series.at("loss"),
              ::testing::ElementsAre(::testing::IsNan(), ::testing::DoubleEq(2.9), ::testing::DoubleEq(2.8)));
}

TEST_F(FineTuningMeasureTest, FileOrderTokensWrapAround) {
  const auto file = data::TokenFile::Open(Tune().tokens_file);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(FileOrderTokens(*file, 0, 2, 25), 30);
  EXPECT_EQ(FileOrderTokens(*file, 2, 4, 25), 35);
  EXPECT_EQ(FileOrderTokens(*file, 0, 3000000000, 1000), 60000000000);
  EXPECT_EQ(FileOrderTokens(*file, 5, 5, 25), 0);
}

}  // namespace
}  // namespace assay::experiment
