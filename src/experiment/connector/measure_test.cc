#include <gmock/gmock.h>

#include <cmath>
#include <utility>
#include <vector>

#include "experiment/connector/connector.h"
#include "measure/statistics.h"
#include "space/number.h"

namespace assay::experiment {
namespace {

using ::testing::HasSubstr;

RunPlan PlanOf(const std::string& connector = "assay", int64_t max_steps = 4) {
  job::ConnectorPlan plan;
  plan.connector = connector;
  plan.uri = "s3://bucket/here";
  plan.rows = 10;
  plan.rows_digest = 77;
  plan.max_steps = max_steps;
  plan.save_every = 2;
  plan.thousand_reads_usd = 0.0004;
  plan.thousand_writes_usd = 0.005;
  plan.gigabyte_month_usd = 0.02;
  RunPlan run;
  run.work = std::move(plan);
  return run;
}

/// What is told of a test of that plan: each step a second long, its training steps evenly over it.
job::RunRecord AllSteps(const RunPlan& run) {
  const auto& plan = std::get<job::ConnectorPlan>(run.work);
  job::RunRecord record;
  record.wall_seconds = 60;
  record.max_rss_bytes = 5;
  double now = 0;
  const auto tell = [&](double at, job::Event event) {
    record.events.push_back(std::move(event));
    record.event_seconds.push_back(at);
  };
  for (const std::string step : kConnectorSteps) {
    const int64_t before = step == "resume" ? (plan.max_steps - 1) / plan.save_every * plan.save_every : 0;
    if (before > 0) {
      tell(now, job::Resumed{.step = before});
    }
    for (int64_t number = before + 1; number <= plan.max_steps && (step == "resume" || step.starts_with("fine_tune"));
         ++number) {
      const double seconds = step == "fine_tune_local" ? 0.1 : 0.2;
      tell(
          now + static_cast<double>(number) / static_cast<double>(plan.max_steps),
          job::Step{.step = number, .loss = 5.0 / static_cast<double>(number), .seconds = seconds, .real_tokens = 100});
      tell(now + 1, job::RankStep{.step = number, .seconds = seconds, .data_seconds = seconds / 4});
    }
    now += 1;
    tell(now, job::ConnectorStep{.step = step,
                                 .start_seconds = step.starts_with("stream") || step == "resume" ? 3.0 : 0.0,
                                 .seconds = 1,
                                 .samples = 10,
                                 .objects = 7,
                                 .bytes = 2000000,
                                 .digest = step.starts_with("stream") ? 77 : 0,
                                 .first_seconds = 0.25,
                                 .wait_seconds = 0.5,
                                 .read_requests = 1000,
                                 .write_requests = 100});
  }
  return record;
}

/// Where the events of a step begin and end; its ConnectorStep is the last of them.
std::pair<size_t, size_t> RangeOf(const job::RunRecord& record, const std::string& step) {
  size_t begin = 0;
  for (size_t i = 0; i < record.events.size(); ++i) {
    if (const auto* ended = std::get_if<job::ConnectorStep>(&record.events[i])) {
      if (ended->step == step) {
        return {begin, i + 1};
      }
      begin = i + 1;
    }
  }
  ADD_FAILURE() << step;
  return {};
}

template <typename Event, typename Change>
void ChangeIn(job::RunRecord& record, const std::string& step, const Change& change) {
  const auto [begin, end] = RangeOf(record, step);
  for (size_t i = begin; i < end; ++i) {
    if (auto* event = std::get_if<Event>(&record.events[i])) {
      change(*event);
    }
  }
}

void AddTo(job::RunRecord& record, const std::string& step, job::Event event) {
  const auto at = static_cast<std::ptrdiff_t>(RangeOf(record, step).first);
  record.events.insert(record.events.begin() + at, std::move(event));
  record.event_seconds.insert(record.event_seconds.begin() + at, record.event_seconds.at(static_cast<size_t>(at)));
}

class ConnectorMeasureTest : public ::testing::Test {
 protected:
  void Measure() {
    Result<Measured> measured = MeasureConnector(plan_, record_);
    ASSERT_TRUE(measured.ok()) << measured.status().message();
    measured_ = *std::move(measured);
  }
  double Value(const char* name) const { return *space::NumberOf(measured_.properties.at(name)); }
  bool Has(const char* name) const { return measured_.properties.contains(name); }
  /// Why what was told, changed so, is no measurement.
  template <typename Event = job::ConnectorStep, typename Change>
  std::string Refusal(const std::string& step, const Change& change) const {
    job::RunRecord record = record_;
    ChangeIn<Event>(record, step, change);
    return MeasureConnector(plan_, record).status().message();
  }

  RunPlan plan_ = PlanOf();
  job::RunRecord record_ = AllSteps(plan_);
  Measured measured_;
};

TEST_F(ConnectorMeasureTest, WhatTheBucketCostsIsTheDifferenceOfTheSameSteps) {
  Measure();
  EXPECT_DOUBLE_EQ(Value("real_tokens_per_second"), 500);
  EXPECT_DOUBLE_EQ(Value("local_real_tokens_per_second"), 1000);
  EXPECT_NEAR(Value("bucket_cost_percent"), 100, 1e-9);
  EXPECT_FALSE(Has("bucket_cost_percent_ci_high"));
  EXPECT_DOUBLE_EQ(Value("stall_fraction"), 0.25);
  EXPECT_NEAR(Value("real_tokens_per_second_without_stalls"), 500 / 0.75, 1e-9);
  EXPECT_NEAR(Value("time_to_first_step"), 0.25, 1e-9);
  EXPECT_NEAR(Value("resumed_time_to_first_step"), 3.75, 1e-9);
  EXPECT_NEAR(Value("first_batch_seconds"), 3.25, 1e-9);
  EXPECT_NEAR(Value("resume_start_seconds"), 3, 1e-9);
  EXPECT_NEAR(Value("resume_seconds"), 1, 1e-9);
  EXPECT_DOUBLE_EQ(Value("optimise_mb_per_s"), 2);
  EXPECT_DOUBLE_EQ(Value("stream_stall_fraction"), 0.5);
  EXPECT_DOUBLE_EQ(Value("objects"), 7);
  EXPECT_DOUBLE_EQ(Value("max_rss_bytes"), 5);
  // Of eight of the ten: what is local is at no place, and what is made again is of no test of its own.
  EXPECT_DOUBLE_EQ(Value("read_requests"), 8000);
  EXPECT_NEAR(Value("requests_usd"), 8 * 0.0004 + 0.8 * 0.005, 1e-12);
  EXPECT_NEAR(Value("storage_usd_per_month"), 2000000 * 0.02 / (1 << 30), 1e-12);
  EXPECT_DOUBLE_EQ(Value("loss_difference"), 0);
}

TEST_F(ConnectorMeasureTest, RequestsCostWhereKeepingIsFree) {
  std::get<job::ConnectorPlan>(plan_.work).gigabyte_month_usd = 0;
  Measure();
  EXPECT_GT(Value("requests_usd"), 0);
  EXPECT_FALSE(Has("storage_usd_per_month"));
}

TEST_F(ConnectorMeasureTest, ACheckpointIsOfWhatTheBucketCosts) {
  for (const char* step : {"fine_tune", "fine_tune_again"}) {
    AddTo(record_, step, job::Checkpointed{.step = 2, .bytes = 9, .stall_seconds = 0.6, .remote_seconds = 0.7});
  }
  Measure();
  EXPECT_NEAR(Value("real_tokens_per_second"), 250, 1e-9);
  EXPECT_NEAR(Value("real_tokens_per_second_without_checkpoints"), 500, 1e-9);
  EXPECT_NEAR(Value("bucket_cost_percent"), 300, 1e-9);
  EXPECT_DOUBLE_EQ(Value("stall_fraction"), 0.25);
  EXPECT_DOUBLE_EQ(Value("checkpoint_stall_seconds"), 0.6);
  EXPECT_DOUBLE_EQ(Value("checkpoint_bytes"), 9);
}

TEST_F(ConnectorMeasureTest, ACheckpointStandsWhenItIsWholeWhereItHadToBe) {
  AddTo(record_, "fine_tune", job::Checkpointed{.step = 2, .local_seconds = 2});
  AddTo(record_, "fine_tune", job::Checkpointed{.step = 4, .local_seconds = 1, .remote_seconds = 4});
  AddTo(record_, "fine_tune_local", job::Checkpointed{.step = 2, .local_seconds = 1, .remote_seconds = 3});
  Measure();
  EXPECT_DOUBLE_EQ(Value("checkpoint_remote_seconds"), 3);
  EXPECT_DOUBLE_EQ(Value("checkpoint_local_seconds"), 3);
}

TEST_F(ConnectorMeasureTest, ACopyIsReceivedToo) {
  Measure();
  EXPECT_FALSE(Has("read_amplification"));
  AddTo(record_, "fine_tune", job::DataUse{.samples = 10, .used_bytes = 100});
  Measure();
  EXPECT_FALSE(Has("read_amplification"));
  ChangeIn<job::ConnectorStep>(record_, "fine_tune", [](job::ConnectorStep& step) { step.copied_bytes = 250; });
  Measure();
  EXPECT_DOUBLE_EQ(Value("read_amplification"), 2.5);
  ChangeIn<job::DataUse>(record_, "fine_tune", [](job::DataUse& use) { use.received_bytes = 50; });
  Measure();
  EXPECT_DOUBLE_EQ(Value("read_amplification"), 3);
}

TEST_F(ConnectorMeasureTest, TheIntervalHoldsWhatTheMachineDriftedBy) {
  plan_ = PlanOf("assay", 20);
  record_ = AllSteps(plan_);
  ChangeIn<job::Step>(record_, "fine_tune_again", [](job::Step& step) { step.seconds = 0.1; });
  Measure();
  EXPECT_NEAR(Value("bucket_cost_percent"), 50, 1e-9);
  EXPECT_NEAR(Value("bucket_cost_percent_ci_low"), 0, 1e-9);
  EXPECT_NEAR(Value("bucket_cost_percent_ci_high"), 100, 1e-9);
}

TEST_F(ConnectorMeasureTest, TheIntervalIsOneOfStepsThatResembleTheirNeighbours) {
  plan_ = PlanOf("assay", 21);
  record_ = AllSteps(plan_);
  std::vector<double> beyond;
  for (int64_t number = 2; number <= 21; ++number) {
    beyond.push_back(number <= 11 ? 0.05 : -0.05);
  }
  for (const char* name : {"fine_tune", "fine_tune_again"}) {
    ChangeIn<job::Step>(record_, name, [](job::Step& step) { step.seconds = step.step <= 11 ? 0.15 : 0.05; });
  }
  Measure();
  const double half_width = measure::BatchMeansInterval(beyond).half_width() / 0.1 * 100;
  EXPECT_GT(half_width, measure::MeanInterval(beyond).half_width() / 0.1 * 100);
  EXPECT_NEAR(Value("bucket_cost_percent_ci_high"), half_width, 1e-6);
}

TEST_F(ConnectorMeasureTest, NothingIsMeasuredOfATestThatIsNotWhole) {
  const auto lose = [](job::ConnectorStep& step) { step.samples = 5; };
  for (const char* step : {"optimise", "optimise_compressed", "stream", "stream_compressed"}) {
    EXPECT_THAT(Refusal(step, lose), HasSubstr(std::string("gave 5 rows in its step ") + step + ": there are 10"));
  }
  const auto alter = [](job::ConnectorStep& step) { step.digest += 1; };
  EXPECT_THAT(Refusal("stream", alter), HasSubstr("gave other rows in its step stream"));
  EXPECT_THAT(Refusal("stream_compressed", alter), HasSubstr("gave other rows"));
  const auto renumber = [](job::Step& step) { step.step += step.step == 4 ? 1 : 0; };
  for (const char* step : {"fine_tune", "resume", "fine_tune_local", "fine_tune_again"}) {
    EXPECT_THAT(Refusal<job::Step>(step, renumber), HasSubstr(std::string("training steps in its step ") + step));
  }
  EXPECT_THAT(Refusal<job::Resumed>("resume", [](job::Resumed& resumed) { resumed.step = 4; }),
              HasSubstr("did not go on from the checkpoint of step 2"));
  record_.events.pop_back();
  EXPECT_THAT(MeasureConnector(PlanOf("fsspec"), record_).status().message(),
              HasSubstr("connector fsspec told nothing of its step fine_tune_again"));
}

TEST_F(ConnectorMeasureTest, LossesOfOursAreThoseOfTheSameRows) {
  const auto raise = [](job::Step& step) { step.loss += 0.5; };
  const auto no_number = [](job::Step& step) { step.loss = step.step == 3 ? std::nan("") : step.loss; };
  for (const char* step : {"fine_tune_local", "resume", "fine_tune_again"}) {
    EXPECT_THAT(Refusal<job::Step>(step, raise), HasSubstr("differ by")) << step;
    EXPECT_THAT(Refusal<job::Step>(step, no_number), HasSubstr("nan")) << step;
  }
  plan_ = PlanOf("fsspec");
  ChangeIn<job::Step>(record_, "fine_tune_local", raise);
  Measure();
  EXPECT_DOUBLE_EQ(Value("loss_difference"), 0.5);
}

TEST_F(ConnectorMeasureTest, WhatALibraryDoesNotTellIsLeftOut) {
  plan_ = PlanOf("fsspec");
  for (const char* step : kConnectorSteps) {
    ChangeIn<job::ConnectorStep>(record_, step, [](job::ConnectorStep& told) {
      told.read_requests = told.write_requests = -1;
      told.wait_seconds = -1;
    });
  }
  Measure();
  EXPECT_FALSE(Has("read_requests"));
  EXPECT_FALSE(Has("requests_usd"));
  EXPECT_TRUE(Has("storage_usd_per_month"));
  EXPECT_FALSE(Has("stream_stall_fraction"));
  EXPECT_FALSE(Has("max_rss_bytes"));
}

}  // namespace
}  // namespace assay::experiment
