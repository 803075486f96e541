#include "experiment/checkpoint/checkpoint_benchmark.h"

#include <gmock/gmock.h>

#include <set>

#include "experiment/testing.h"
#include "space/number.h"

namespace assay::experiment {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr char kSharded[] = "checkpoint_sharded_benchmark-v1.0.0";
constexpr char kSingle[] = "checkpoint_single_benchmark-v1.0.0";

space::Entity PointOf(const char* id, const space::Entity& changes) {
  space::Entity entity = {{"client", std::string("assay")}, {"uri", std::string("/somewhere/runs/")}};
  if (id == std::string(kSharded)) {
    entity["model"] = std::string("L7m");
    entity["world_size"] = int64_t{2};
  } else {
    entity["layers"] = int64_t{10};
  }
  for (const auto& [name, value] : changes) {
    entity[name] = value;
  }
  return BindPoint(**FindExperiment(id), entity, {}).value().complete;
}

const CheckpointExperiment& Named(const char* id) {
  return static_cast<const CheckpointExperiment&>(**FindExperiment(id));
}

job::CheckpointPlan PlanOf(const char* id, const space::Entity& changes = {}) {
  return Named(id).PlanOf(PointOf(id, changes)).value();
}

std::string RefusalOf(const char* id, const space::Entity& changes) {
  return Named(id).Check(PointOf(id, changes)).reason;
}

TEST(CheckpointBenchmarkTest, APointBecomesAPlan) {
  const job::CheckpointPlan plan =
      PlanOf(kSharded, {{"thread_count", int64_t{3}}, {"suffix", std::string("a")}, {"epochs", int64_t{6}}});
  EXPECT_THAT(plan.output_dir, MatchesRegex("/somewhere/runs/checkpoint-benchmark/assay/a/[0-9a-f]{8}"));
  EXPECT_EQ(plan.number_ranks, 2);
  EXPECT_EQ(plan.files_per_rank, 3);
  EXPECT_EQ(plan.repeats, 6);
  EXPECT_EQ(plan.checkpoint_writer, "sync");
  EXPECT_EQ(plan.tensors.front(), "embed_tokens.weight 50432x64");
  EXPECT_TRUE(job::CheckCheckpointPlan(plan).ok());
  EXPECT_EQ(PlanOf(kSharded, {{"client", std::string("assay-async")}}).checkpoint_writer, "async");
  const job::CheckpointPlan single =
      PlanOf(kSingle, {{"client", std::string("assay-stream")}, {"uri", std::string("gs://b/p")}});
  EXPECT_EQ(single.format, "ckpt");
  EXPECT_EQ(single.layers, 10);
  EXPECT_EQ(single.streams, 1);
  EXPECT_EQ(single.repeats, 5);
}

TEST(CheckpointBenchmarkTest, ModelsHaveTheirPublishedSizes) {
  const auto billions = [](const char* model) {
    double elements = 0;
    for (const std::string& text : PlanOf(kSharded, {{"model", std::string(model)}}).tensors) {
      double count = 1;
      const job::PlannedTensor tensor = job::ParsePlannedTensor(text).value();
      for (const int64_t size : tensor.shape) {
        count *= static_cast<double>(size);
      }
      elements += count;
    }
    return elements / 1e9;
  };
  EXPECT_NEAR(billions("L7b"), 6.89, 0.01);
  EXPECT_NEAR(billions("L70b"), 69.3, 0.1);
  EXPECT_NEAR(billions("L270m") * 4e9 / (1 << 30), 1.0, 0.02);
  EXPECT_NEAR(billions("L1b") * 4e9 / (1LL << 32), 1.0, 0.02);
}

TEST(CheckpointBenchmarkTest, TheProtocolSaysWhatIsSyncedAndCold) {
  const std::string published = "published";
  EXPECT_TRUE(PlanOf(kSharded).sync_files);
  EXPECT_TRUE(PlanOf(kSharded).clear_cache);
  EXPECT_FALSE(PlanOf(kSharded, {{"clear_cache", false}}).clear_cache);
  for (const char* client : {"assay", "torch"}) {
    const job::CheckpointPlan plan = PlanOf(kSharded, {{"client", std::string(client)}, {"protocol", published}});
    EXPECT_FALSE(plan.sync_files);
    EXPECT_FALSE(plan.clear_cache);
  }
  EXPECT_EQ(PlanOf(kSingle, {{"protocol", std::string("mlperf")}}).repeats, 10);
}

TEST(CheckpointBenchmarkTest, AFolderIsAPathHoweverItIsNamed) {
  const auto folder_of = [](const char* uri) { return PlanOf(kSharded, {{"uri", std::string(uri)}}).output_dir; };
  EXPECT_EQ(folder_of("file:///data/runs/"), folder_of("/data/runs"));
  EXPECT_THAT(folder_of("file:///data/runs/"), StartsWith("/data/runs/checkpoint-benchmark/assay/"));
}

TEST(CheckpointBenchmarkTest, EachPointHasAFolderOfItsOwn) {
  const space::Entity others[] = {{{"world_size", int64_t{1}}},
                                  {{"model", std::string("L270m")}},
                                  {{"operation", std::string("load")}},
                                  {{"seed", int64_t{1}}}};
  std::set<std::string> folders = {PlanOf(kSharded).output_dir};
  EXPECT_TRUE(folders.contains(PlanOf(kSharded).output_dir));
  for (const space::Entity& other : others) {
    EXPECT_TRUE(folders.insert(PlanOf(kSharded, other).output_dir).second);
  }
}

TEST(CheckpointBenchmarkTest, RulesNameWhatCannotBe) {
  const std::string s3 = "s3://b/p";
  EXPECT_EQ(RefusalOf(kSharded, {}), "");
  EXPECT_EQ(RefusalOf(kSharded, {{"uri", s3}}), "");
  EXPECT_THAT(RefusalOf(kSharded, {{"client", std::string("torch")}, {"uri", s3}}), HasSubstr("folders alone"));
  EXPECT_THAT(RefusalOf(kSharded, {{"client", std::string("s3torchconnector")}}), HasSubstr("is a folder"));
  EXPECT_THAT(RefusalOf(kSharded, {{"client", std::string("fsspec")}, {"uri", std::string("gs://b/p")}}),
              HasSubstr("s3:// alone"));
  EXPECT_THAT(RefusalOf(kSharded, {{"sync_files", false}}), HasSubstr("no checkpoint"));
  EXPECT_THAT(RefusalOf(kSharded, {{"client", std::string("torch")}, {"sync_files", false}}),
              HasSubstr("no checkpoint"));
  EXPECT_THAT(RefusalOf(kSingle, {{"client", std::string("assay-stream")}}), HasSubstr("for client assay"));
  EXPECT_EQ(RefusalOf(kSingle, {{"client", std::string("assay-stream")}, {"uri", std::string("gs://b/p")}}), "");
  EXPECT_THAT(RefusalOf(kSharded, {{"storage", std::string("s3")}}), HasSubstr("uri names disk"));
}

TEST(CheckpointBenchmarkTest, RanksWithoutDataAreOneProcessUnderAProfile) {
  const space::Entity changes = {{"client", std::string("modelled")},
                                 {"world_size", int64_t{4096}},
                                 {"model", std::string("L405b")},
                                 {"uri", std::string("s3://b/p")}};
  const PlanContext context{.share_dir = ASSAY_SOURCE_DIR "/share"};
  const job::CheckpointPlan plan = Named(kSharded).PlanOf(PointOf(kSharded, changes), context).value();
  EXPECT_EQ(plan.number_ranks, 1);
  EXPECT_EQ(plan.modelled_ranks, 4096);
  EXPECT_EQ(plan.prefix_writes_per_s, 3500);
  EXPECT_DOUBLE_EQ(plan.machine_bytes_per_s, 1250e6);
  EXPECT_TRUE(job::CheckCheckpointPlan(plan).ok());
  EXPECT_THAT(RefusalOf(kSharded, {{"world_size", int64_t{4096}}}), HasSubstr("for client modelled alone"));
}

TEST(CheckpointBenchmarkTest, OthersHaveTheirProgram) {
  const space::Entity point = PointOf(kSingle, {{"client", std::string("lightning")}});
  const RunPlan plan = Named(kSingle).Plan(point, {.share_dir = "/share"}).value();
  EXPECT_EQ(std::get<job::CheckpointPlan>(plan.work).program, "/share/peers/checkpoint-worker");
  EXPECT_EQ(Named(kSingle).Plan(point, {.share_dir = "/share", .elsewhere = "cluster"}).status().code(),
            ErrorCode::kUnsupported);
  const Status dataflux =
      Named(kSingle).CheckInputs(PointOf(kSingle, {{"client", std::string("dataflux")}}), {.share_dir = "/share"});
  EXPECT_EQ(dataflux.code(), ErrorCode::kUnsupported);
}

/// Two ranks, the second a second later and slower, in two repeats.
job::RunRecord TwoRanks() {
  job::RunRecord record;
  record.wall_seconds = 30;
  record.cpu_seconds = 8;
  for (const int64_t repeat : {1, 2}) {
    for (const int64_t rank : {0, 1}) {
      job::CheckpointTransfer transfer{.rank = rank, .operation = "save", .repeat = repeat};
      transfer.began_seconds = static_cast<double>(100 * repeat + rank);
      transfer.seconds = static_cast<double>(2 * repeat + rank);
      transfer.stall_seconds = transfer.seconds;
      transfer.cpu_seconds = 1;
      transfer.state_bytes = int64_t{1} << 30;
      transfer.beyond_bytes = 10 * (rank + 1);
      transfer.is_verified = repeat == 2;
      record.events.emplace_back(transfer);
    }
  }
  return record;
}

TEST(CheckpointBenchmarkTest, SpansHoldAllRanks) {
  const space::Entity point = PointOf(kSharded, {{"epochs", int64_t{2}}});
  const RunPlan plan = Named(kSharded).Plan(point, {.share_dir = "/share"}).value();
  const job::RunRecord record = TwoRanks();
  const Result<Measured> measured = Named(kSharded).Measure(point, plan, std::span(&record, 1));
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  const auto value = [&](const char* name) { return *space::NumberOf(measured->properties.at(name)); };
  EXPECT_THAT(measured->series.at("span_seconds"), ElementsAre(4, 6));
  EXPECT_DOUBLE_EQ(value("span_seconds_median"), 5);
  EXPECT_DOUBLE_EQ(value("mib_per_s"), 1024.0 / 5);
  EXPECT_DOUBLE_EQ(value("slowest_rank_seconds_mean"), 4);
  EXPECT_DOUBLE_EQ(value("corrected_save_durations_s"), (2 + 3 + 4 + 5) / 4.0);
  EXPECT_DOUBLE_EQ(value("throughput_mibs"), (1024.0 / 2 + 1024.0 / 3 + 1024.0 / 4 + 1024.0 / 5) / 4);
  EXPECT_DOUBLE_EQ(value("processing_durations_s"), 15);
  EXPECT_DOUBLE_EQ(value("cpu_seconds_per_gib"), 2);
  EXPECT_DOUBLE_EQ(value("memory_beyond_bytes"), 20);
  EXPECT_FALSE(measured->properties.contains("span_seconds_ci_low"));
}

TEST(CheckpointBenchmarkTest, RequestsAreOfOneRepeatAndLeftOutWhereARankDoesNotTell) {
  const space::Entity point = PointOf(kSharded, {{"epochs", int64_t{2}}});
  const RunPlan plan = Named(kSharded).Plan(point, {.share_dir = "/share"}).value();
  job::RunRecord record = TwoRanks();
  const auto properties = [&] {
    return Named(kSharded).Measure(point, plan, std::span(&record, 1)).value().properties;
  };
  EXPECT_FALSE(properties().contains("read_requests"));
  for (job::Event& event : record.events) {
    auto& transfer = std::get<job::CheckpointTransfer>(event);
    transfer.read_requests = 3;
    transfer.write_requests = 10 * transfer.repeat;
    transfer.retries = transfer.rank;
  }
  EXPECT_DOUBLE_EQ(*space::NumberOf(properties().at("read_requests")), 6);
  EXPECT_DOUBLE_EQ(*space::NumberOf(properties().at("write_requests")), 30);
  EXPECT_DOUBLE_EQ(*space::NumberOf(properties().at("retries")), 2);
}

TEST(CheckpointBenchmarkTest, MemoryThatTheSystemDoesNotTellIsLeftOut) {
  const space::Entity point = PointOf(kSharded, {{"epochs", int64_t{2}}});
  const RunPlan plan = Named(kSharded).Plan(point, {.share_dir = "/share"}).value();
  job::RunRecord record = TwoRanks();
  std::get<job::CheckpointTransfer>(record.events.front()).beyond_bytes = -1;
  const Result<Measured> measured = Named(kSharded).Measure(point, plan, std::span(&record, 1));
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_FALSE(measured->properties.contains("memory_beyond_bytes"));
}

TEST(CheckpointBenchmarkTest, NothingIsMeasuredThatNobodyCompared) {
  const space::Entity point = PointOf(kSharded, {{"epochs", int64_t{2}}});
  const RunPlan plan = Named(kSharded).Plan(point, {.share_dir = "/share"}).value();
  job::RunRecord record = TwoRanks();
  std::get<job::CheckpointTransfer>(record.events.back()).is_verified = false;
  EXPECT_THAT(Named(kSharded).Measure(point, plan, std::span(&record, 1)).status().message(),
              HasSubstr("did not compare"));
  record.events.pop_back();
  EXPECT_THAT(Named(kSharded).Measure(point, plan, std::span(&record, 1)).status().message(),
              HasSubstr("told of 3 times, and not of 4"));
}

}  // namespace
}  // namespace assay::experiment
