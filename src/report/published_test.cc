#include "report/published.h"

#include <gmock/gmock.h>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

samplestore::Measurement RunOf(const std::string& plugin, double speed, const std::string& host = "server") {
  samplestore::Measurement m = testing::MakeValid({.batch_size = 8});
  m.experiment = m.parameterized_id = "vit_plugin_benchmark-v1.0.0";
  m.entity["plugin"] = plugin;
  m.entity_id = space::EntityId(m.entity);
  m.properties["images_per_second"] = speed;
  m.provenance["host"] = host;
  return m;
}

std::vector<PublishedTable> TablesOf(const std::vector<samplestore::Measurement>& runs) {
  const ResultSet results(runs);
  experiment::PublishedFigures published{.title = "theirs", .note = "", .columns = {}, .rows = {}, .own = {}};
  for (const char* plugin : {"torch_ddp", "gemini"}) {
    published.rows.push_back(
        {.point = {{"plugin", std::string(plugin)}, {"batch_size", int64_t{8}}}, .cells = {plugin, "20"}});
  }
  published.own = {{.target = "images_per_second", .factor = 2}};
  return BesidePublished(results, published);
}

TEST(PublishedTest, WhatTwoHostsMeasuredStandsInTwoTables) {
  const auto tables = TablesOf({RunOf("torch_ddp", 100), RunOf("gemini", 10, "laptop")});
  ASSERT_THAT(tables, SizeIs(2));
  for (const PublishedTable& table : tables) {
    const bool server = table.title.find("host server") != std::string::npos;
    EXPECT_THAT(table.title, HasSubstr(server ? "theirs; here: host server" : "theirs; here: host laptop"));
    EXPECT_THAT(table.rows, ElementsAre(ElementsAre("torch_ddp", "20", server ? "200 (n 1)" : "\u2013"),
                                        ElementsAre("gemini", "20", server ? "\u2013" : "20.0 (n 1)")));
  }
}

TEST(PublishedTest, OtherRanksAreAnotherTable) {
  std::vector<samplestore::Measurement> runs = {RunOf("torch_ddp", 100), RunOf("torch_ddp", 200)};
  runs[1].parameters["number_ranks"] = int64_t{2};
  runs[1].parameterized_id += "-number_ranks.2";
  EXPECT_THAT(TablesOf(runs), SizeIs(2));
}

TEST(PublishedTest, OursIsTheMeanOfAllRuns) {
  const auto tables = TablesOf({RunOf("torch_ddp", 99), RunOf("torch_ddp", 100), RunOf("torch_ddp", 101)});
  ASSERT_THAT(tables, SizeIs(1));
  EXPECT_EQ(tables[0].title, "theirs");
  // t(2) = 4.303, s = 2, n = 3.
  EXPECT_THAT(tables[0].rows[0], ElementsAre("torch_ddp", "20", "200 (\u00b14.97, n 3)"));
}

TEST(PublishedTest, WhatWasPublishedIsShownWithoutAnyOfOurs) {
  const auto tables = TablesOf({});
  ASSERT_THAT(tables, SizeIs(1));
  EXPECT_THAT(tables[0].rows[1], ElementsAre("gemini", "20", "\u2013"));
}

}  // namespace
}  // namespace assay::report
