#include "experiment/connector/connector.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "experiment/testing.h"
#include "space/number.h"

namespace assay::experiment {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConnectorId[] = "connector_finetune_benchmark-v1.0.0";

const Experiment& Benchmark() {
  return **FindExperiment(kConnectorId);
}

space::Entity Point(const space::Entity& changes = {}) {
  space::Entity entity = {{"connector", std::string("assay")},
                          {"uri", std::string("s3://bucket/here/")},
                          {"dataset_id", std::string("news-chars-512-entries-256")},
                          {"model_name", std::string("smollm2-135m")},
                          {"model_max_length", int64_t{128}},
                          {"batch_size", int64_t{2}},
                          {"max_steps", int64_t{4}},
                          {"checkpoint_every", int64_t{2}}};
  for (const auto& [name, value] : changes) {
    entity[name] = value;
  }
  return BindPoint(Benchmark(), entity, {}).value().complete;
}

class ConnectorBenchmarkTest : public ::testing::Test {
 protected:
  RunPlan PlanOf(const space::Entity& changes = {}) {
    return Benchmark()
        .Plan(Point(changes), {.share_dir = ASSAY_SOURCE_DIR "/share", .cache_dir = cache_.path()})
        .value();
  }

  TemporaryDirectory cache_ = TemporaryDirectory::Create("assay-connector-test").value();
};

TEST_F(ConnectorBenchmarkTest, APointBecomesAPlan) {
  const RunPlan run = PlanOf({{"shard_size", std::string("1MiB")}, {"cache_limit", std::string("2MiB")}});
  const auto& plan = std::get<job::ConnectorPlan>(run.work);
  EXPECT_TRUE(job::CheckConnectorPlan(plan).ok());
  EXPECT_EQ(plan.uri, "s3://bucket/here/connector-benchmark/assay");
  EXPECT_EQ(plan.shard_bytes, 1 << 20);
  EXPECT_EQ(plan.cache_bytes, 2 << 20);
  EXPECT_EQ(plan.method, "lora");
  EXPECT_EQ(plan.save_every, 2);
  EXPECT_GT(plan.thousand_writes_usd, plan.thousand_reads_usd);
  EXPECT_EQ(plan.program, "");
  EXPECT_THAT(std::get<job::ConnectorPlan>(PlanOf({{"connector", std::string("fsspec")}}).work).program,
              HasSubstr("/peers/connector-worker"));
}

TEST_F(ConnectorBenchmarkTest, RowsAreParted) {
  const Result<std::string> text = ReadFile(std::get<job::ConnectorPlan>(PlanOf().work).rows_file);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto row = nlohmann::json::parse(text->substr(0, text->find('\n')));
  EXPECT_THAT(row.at("prompt").get<std::string>(), ::testing::EndsWith("### Response:"));
  EXPECT_THAT(row.at("completion").get<std::string>(), Not(HasSubstr("### Response:")));
  const std::string chats = cache_.path() + "/chats.jsonl";
  ASSERT_TRUE(WriteFileAtomically(chats, "{\"messages\": [{\"role\": \"assistant\", \"content\": \"a\"}]}\n").ok());
  EXPECT_THAT(ConnectorRows(chats, {.cache_dir = cache_.path()}).status().message(),
              HasSubstr("chats.jsonl:1: a connector test takes rows with prompt and completion"));
}

TEST_F(ConnectorBenchmarkTest, TheReportHasCriteriaOfEachConnector) {
  const PublishedFigures figures = ConnectorCriteria();
  ASSERT_EQ(figures.rows.size(), Connectors().size());
  for (const PublishedRow& row : figures.rows) {
    const auto& name = std::get<std::string>(row.point.at("connector"));
    EXPECT_EQ(ConnectorNamed(name).name, name);
    EXPECT_EQ(row.cells.size() + figures.own.size(), figures.columns.size());
  }
}

TEST_F(ConnectorBenchmarkTest, RulesNameWhatCannotBe) {
  const auto refusal = [](const space::Entity& changes) { return Benchmark().Check(Point(changes)).reason; };
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({{"connector", std::string("s3torchconnector")}, {"uri", std::string("/a")}}),
              HasSubstr("cannot reach /a: it knows s3"));
  EXPECT_THAT(refusal({{"connector", std::string("litdata")}, {"compression", std::string("br")}}),
              HasSubstr("has no compression br: choose zstd"));
  EXPECT_THAT(refusal({{"checkpoint_every", int64_t{3}}}), HasSubstr("two of them at least"));
  EXPECT_THAT(refusal({{"shard_size", std::string("4XB")}}), HasSubstr("shard_size"));
}

/// A step of each kind; a second long, with four training steps where it trains, of which the last two are resumed.
job::RunRecord AllSteps() {
  job::RunRecord record;
  record.wall_seconds = 60;
  double now = 0;
  for (const char* name : kConnectorSteps) {
    const std::string step = name;
    const bool is_resume = step == "resume";
    now += 1;
    if (is_resume || step.starts_with("fine_tune")) {
      for (int64_t number = is_resume ? 3 : 1; number <= 4; ++number) {
        const double seconds = step == "fine_tune_local" ? 0.1 : 0.2;
        record.events.emplace_back(job::Step{
            .step = number, .loss = 5.0 - static_cast<double>(number), .seconds = seconds, .real_tokens = 100});
        record.event_seconds.push_back(now - 1 + 0.25 * static_cast<double>(number));
        record.events.emplace_back(job::RankStep{.step = number, .seconds = seconds, .data_seconds = seconds / 4});
        record.event_seconds.push_back(now);
      }
    }
    record.events.emplace_back(job::ConnectorStep{.step = step,
                                                  .seconds = 1,
                                                  .samples = 10,
                                                  .objects = 7,
                                                  .bytes = 2000000,
                                                  .read_requests = 1000,
                                                  .write_requests = 100});
    record.event_seconds.push_back(now);
  }
  return record;
}

TEST_F(ConnectorBenchmarkTest, WhatTheBucketCostsIsTheDifferenceOfTheSameSteps) {
  const job::RunRecord record = AllSteps();
  const Result<Measured> measured = MeasureConnector(PlanOf(), record);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  const auto value = [&](const char* name) { return *space::NumberOf(measured->properties.at(name)); };
  EXPECT_DOUBLE_EQ(value("real_tokens_per_second"), 500);
  EXPECT_DOUBLE_EQ(value("local_real_tokens_per_second"), 1000);
  EXPECT_NEAR(value("bucket_cost_percent"), 100, 1e-9);
  EXPECT_NEAR(value("bucket_cost_percent_ci_high"), 100, 1e-9);
  EXPECT_DOUBLE_EQ(value("stall_fraction"), 0.25);
  EXPECT_NEAR(value("real_tokens_per_second_without_stalls"), 500 / 0.75, 1e-9);
  EXPECT_DOUBLE_EQ(value("time_to_first_step"), 0.25);
  EXPECT_DOUBLE_EQ(value("resumed_time_to_first_step"), 0.75);
  EXPECT_DOUBLE_EQ(value("optimise_mb_per_s"), 2);
  EXPECT_DOUBLE_EQ(value("objects"), 7);
  // Of seven of the eight: what is local is at no place.
  EXPECT_DOUBLE_EQ(value("read_requests"), 7000);
  EXPECT_NEAR(value("requests_usd"), 7 * 0.0004 + 0.7 * 0.005, 1e-12);
  EXPECT_DOUBLE_EQ(value("loss_difference"), 0);
}

TEST_F(ConnectorBenchmarkTest, NothingIsMeasuredWithoutItsStepsOrWithOtherLosses) {
  job::RunRecord record = AllSteps();
  for (job::Event& event : record.events) {
    if (auto* step = std::get_if<job::Step>(&event); step != nullptr && step->seconds == 0.1) {
      step->loss += 0.5;
    }
  }
  EXPECT_THAT(MeasureConnector(PlanOf(), record).status().message(), HasSubstr("losses differ by 0.5"));
  const RunPlan theirs = PlanOf({{"connector", std::string("fsspec")}});
  EXPECT_DOUBLE_EQ(*space::NumberOf(MeasureConnector(theirs, record)->properties.at("loss_difference")), 0.5);
  record.events.pop_back();
  EXPECT_THAT(MeasureConnector(theirs, record).status().message(),
              HasSubstr("connector fsspec told nothing of its step fine_tune_local"));
}

}  // namespace
}  // namespace assay::experiment
