#include "report/results_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::ContainsRegex;
using testing::DemoSpace;
using ::testing::HasSubstr;
using testing::MakeFailed;
using testing::MakeInvalid;
using testing::MakeValid;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ResultsTableTest, ShowsWhatVariesAndStatesTheRestOnce) {
  const std::string table = RenderResultsTable(DemoSpace());
  EXPECT_THAT(table, StartsWith("All points: "));
  EXPECT_THAT(table, ContainsRegex("method +max length +batch size +outcome +real tokens/s +step s +tensor GiB"));
  EXPECT_THAT(table, ContainsRegex("\nlora +256 +4 +valid +[0-9,]+ \u00b1[0-9.]+ "));
  EXPECT_THAT(table, HasSubstr("8 points: 8 valid, 0 invalid, 0 failed"));
  EXPECT_THAT(table, Not(HasSubstr("reason")));
}

TEST(ResultsTableTest, SaysWhyAPointHasNoValues) {
  const std::string table = RenderResultsTable(
      std::vector<Measurement>{MakeValid({}), MakeInvalid({.batch_size = 8}, "out of memory: " + std::string(200, 'x')),
                               MakeFailed({.batch_size = 16}, "killed by signal 9 (SIGKILL)")});
  EXPECT_THAT(table, ContainsRegex("invalid +- .*out of memory: x+\u2026\n"));
  EXPECT_THAT(table, ContainsRegex("failed +- .*killed by signal 9 \\(SIGKILL\\)\n"));
}

TEST(ResultsTableTest, SaysThatARunWasStarved) {
  Measurement run = MakeValid({});
  run.provenance["starved"] = "waited for a processor for 4.00 s of 10.0 s";
  EXPECT_THAT(RenderResultsTable(std::vector{run}), ContainsRegex("valid .*starved: waited for a processor"));
}

TEST(ResultsTableTest, NothingIsSaidInWords) {
  EXPECT_EQ(RenderResultsTable({}), "No measurements.\n");
  EXPECT_EQ(RenderResultsTable({}, 12), "No measurements: 0 of 12 points.\n");
}

TEST(ResultsTableTest, TellsHowManyOfTheSpacesPointsThereAre) {
  const std::vector<Measurement> one = {MakeValid({})};
  EXPECT_THAT(RenderResultsTable(one, 12), HasSubstr("\n1 of 12 points: 1 valid, 0 invalid, 0 failed\n"));
  EXPECT_THAT(RenderResultsTable(one), HasSubstr("\n1 point: 1 valid"));
}

TEST(ResultsTableTest, MachinesAreAColumnAndCountAsConfigurationsOfOnePoint) {
  std::vector<Measurement> measurements(3, MakeValid({}));
  measurements[1].provenance["host"] = "laptop";
  const std::string table = RenderResultsTable(measurements, 4);
  EXPECT_THAT(table, ContainsRegex("host +outcome"));
  EXPECT_THAT(table, ContainsRegex("\nlaptop +valid"));
  EXPECT_THAT(table, HasSubstr("1 of 4 points, 2 configurations with machine and commit: 2 valid, 0 invalid, 0 failed; "
                               "3 measurements\n"));
}

TEST(ResultsTableTest, SaysThatWeightsAreRandom) {
  EXPECT_THAT(RenderResultsTable(std::vector<Measurement>{MakeValid({})}), HasSubstr("weights random"));
}

TEST(ResultsTableTest, ValuesThatCuttingWouldMakeAlikeStayWhole) {
  std::vector<Measurement> measurements(2, MakeValid({}));
  const std::string middle(40, 'x');
  measurements[0].parameterized_id += "-a." + middle + "1" + middle;
  measurements[1].parameterized_id += "-a." + middle + "2" + middle;
  const std::string table = RenderResultsTable(measurements);
  EXPECT_THAT(table, HasSubstr(middle + "1" + middle));
  EXPECT_THAT(table, HasSubstr(middle + "2" + middle));
}

TEST(ResultsTableTest, AnUnknownExperimentShowsItsNumbers) {
  Measurement measurement;
  measurement.experiment = "sort_benchmark-v1.0.0";
  measurement.parameterized_id = measurement.experiment;
  measurement.outcome = samplestore::Outcome::kValid;
  measurement.properties = {{"comparisons", int64_t{42}}, {"is_valid", true}};
  measurement.units = {{"comparisons", "1"}};
  EXPECT_THAT(RenderResultsTable(std::vector{measurement}), ContainsRegex("comparisons 1\n.*\nvalid +42\n"));
}

TEST(ResultsCsvTest, QuotesAsRfc4180Asks) {
  Measurement measurement = MakeFailed({}, "said \"no\", then\nstopped");
  measurement.provenance = {{"host", "a,b"}};
  const std::string csv = RenderResultsCsv(std::vector{measurement});
  EXPECT_THAT(csv, HasSubstr(",\"said \"\"no\"\", then\nstopped\","));
  EXPECT_THAT(csv, ::testing::EndsWith(",\"a,b\"\r\n"));
}

TEST(ResultsCsvTest, ColumnsAreThoseOfAllRowsNotOfTheFirst) {
  const std::vector<Measurement> failed_first = {MakeFailed({.batch_size = 16}, "killed"), MakeValid({})};
  const std::vector<Measurement> valid_first = {failed_first[1], failed_first[0]};
  const std::string csv = RenderResultsCsv(failed_first);
  const std::string header = csv.substr(0, csv.find("\r\n"));
  EXPECT_THAT(header, StartsWith("experiment,parameterized_id,entity_id,outcome,reason,measured_at,uid,batch_size,"));
  EXPECT_THAT(header, HasSubstr(",real_tokens_per_second,"));
  EXPECT_THAT(RenderResultsCsv(valid_first), StartsWith(header));
}

TEST(ResultsCsvTest, NumbersReadBackTheSame) {
  Measurement measurement = MakeValid({});
  measurement.properties = {{"a", 0.1}, {"b", 1.0 / 3}, {"c", int64_t{1} << 60}, {"d", space::Value()}};
  measurement.provenance.clear();
  EXPECT_THAT(RenderResultsCsv(std::vector{measurement}),
              ::testing::EndsWith(",0.1,0.3333333333333333,1152921504606846976,\r\n"));
}

TEST(ResultsCsvTest, ATargetNeverHidesAProperty) {
  Measurement measurement = MakeValid({});
  measurement.properties = {{"batch_size", int64_t{3}}};
  EXPECT_THAT(RenderResultsCsv(std::vector{measurement}), HasSubstr(",measured.batch_size,"));
}

TEST(ResultsJsonTest, IsTheListOfMeasurements) {
  const nlohmann::json list = nlohmann::json::parse(RenderResultsJson(DemoSpace()));
  ASSERT_EQ(list.size(), 8u);
  EXPECT_EQ(list[0]["outcome"], "valid");
  EXPECT_EQ(list[7]["entity"]["batch_size"], 4);
  EXPECT_EQ(nlohmann::json::parse(RenderResultsJson({})), nlohmann::json::array());
}

}  // namespace
}  // namespace assay::report
