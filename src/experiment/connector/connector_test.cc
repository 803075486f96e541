#include "experiment/connector/connector.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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
  EXPECT_THAT(plan.uri, StartsWith("s3://bucket/here/connector-benchmark/assay/"));
  EXPECT_EQ(plan.rows, 256);
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
  const std::vector<PublishedFigures> tables = ConnectorCriteria();
  ASSERT_EQ(tables.size(), 2);
  ASSERT_EQ(tables[0].rows.size(), Connectors().size());
  for (const PublishedRow& row : tables[0].rows) {
    const auto& name = std::get<std::string>(row.point.at("connector"));
    EXPECT_EQ(ConnectorNamed(name).name, name);
    EXPECT_EQ(row.cells[1].starts_with("1 command, "), !name.starts_with("assay")) << "others' program is one";
  }
  EXPECT_EQ(tables[0].rows.front().cells[1], "2 commands");
  EXPECT_EQ(tables[0].rows.back().cells[1], "3 commands");
  ASSERT_EQ(tables[1].rows.size(), 5);
  for (const PublishedFigures& table : tables) {
    for (const PublishedRow& row : table.rows) {
      EXPECT_EQ(row.cells.size() + table.own.size(), table.columns.size());
    }
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

TEST_F(ConnectorBenchmarkTest, EachPointHasAPlaceOfItsOwn) {
  const auto place = [&](const space::Entity& changes) {
    return std::get<job::ConnectorPlan>(PlanOf(changes).work).uri;
  };
  EXPECT_EQ(place({}), place({}));
  EXPECT_NE(place({}), place({{"batch_size", int64_t{4}}}));
  EXPECT_NE(place({}), place({{"seed", int64_t{4}}}));
  EXPECT_THAT(place({{"uri", std::string("file:///a/b")}}), StartsWith("/a/b/connector-benchmark/"));
}

TEST_F(ConnectorBenchmarkTest, AllConvertByOneUnlessOursIsAskedForMore) {
  const auto workers = [&](const space::Entity& changes) { return std::get<job::ConnectorPlan>(PlanOf(changes).work); };
  EXPECT_EQ(workers({{"number_of_workers", int64_t{4}}}).convert_workers, 1);
  EXPECT_EQ(workers({{"convert_workers", int64_t{3}}}).convert_workers, 3);
  EXPECT_THAT(Benchmark().Check(Point({{"connector", std::string("fsspec")}, {"convert_workers", int64_t{2}}})).reason,
              HasSubstr("converts in one process"));
}

TEST_F(ConnectorBenchmarkTest, PricesAreThoseOfTheStoreThatBills) {
  const std::string config = cache_.path() + "/config";
  ASSERT_TRUE(WriteFileAtomically(config, "[profile cellar]\nendpoint_url = http://minio\n").ok());
  using Variables = std::map<std::string, std::string>;
  const auto reads = [&](const std::string& uri, const std::string& priced_as, Variables variables) {
    variables["AWS_CONFIG_FILE"] = config;
    variables["AWS_SHARED_CREDENTIALS_FILE"] = config + "-of-keys";
    const auto lookup = [&](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    const auto prices = PricesOf(uri, priced_as, ASSAY_SOURCE_DIR "/share", lookup);
    EXPECT_TRUE(prices.ok()) << prices.status().message();
    return *prices ? (*prices)->thousand_reads : -1;
  };
  const Variables minio = {{"AWS_ENDPOINT_URL", "http://minio"}};
  EXPECT_DOUBLE_EQ(reads("s3://a/b", kByScheme, {}), 0.0004);
  EXPECT_DOUBLE_EQ(reads("s3://a/b", kByScheme, minio), -1);
  EXPECT_DOUBLE_EQ(reads("s3://a/b", kByScheme, {{"AWS_PROFILE", "cellar"}}), -1);
  EXPECT_DOUBLE_EQ(reads("s3://a/b", "oci", minio), 0.00034);
  EXPECT_DOUBLE_EQ(reads("oci://a@b/c", kByScheme, minio), 0.00034);
  EXPECT_DOUBLE_EQ(reads("/a/b", kByScheme, {}), -1);
}

TEST_F(ConnectorBenchmarkTest, LibrariesOfOthersAreAmongTheContents) {
  const std::string program = cache_.path() + "/peers/connector-worker";
  ASSERT_TRUE(MakeDirectories(cache_.path() + "/peers").ok());
  const auto write = [&](const std::string& script) {
    ASSERT_TRUE(WriteFileAtomically(program, "#!/bin/sh\n" + script).ok());
    ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  };
  write("echo \"$1 of $2 1.5\"");
  EXPECT_EQ(LibrariesOf(ConnectorNamed("fsspec"), cache_.path()).value(), "--versions of fsspec 1.5");
  EXPECT_EQ(LibrariesOf(ConnectorNamed("assay"), cache_.path()).value(), "");
  write("echo there is no Python; exit 2");
  EXPECT_EQ(LibrariesOf(ConnectorNamed("fsspec"), cache_.path()).value(), "");
}

}  // namespace
}  // namespace assay::experiment
