#include "report/virtual_properties.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "report/metric.h"
#include "report/results_table.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::ContainsRegex;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using testing::MakeInvalid;
using testing::MakeValid;
using ::testing::Pointwise;
using ::testing::SizeIs;

const std::vector<std::string> kAll = {"mean", "median", "std", "variance", "min", "max"};

/// Runs of one point with these values, in this order.
std::vector<Measurement> Runs(const std::vector<double>& values) {
  std::vector<Measurement> runs;
  for (const double value : values) {
    Measurement run = MakeValid({});
    run.uid = std::to_string(runs.size());
    run.properties = {{"train_tokens_per_second", value}, {"is_valid", int64_t{1}}, {"works", true}, {"note", "text"}};
    run.units = {{"train_tokens_per_second", "tokens/s"}};
    runs.push_back(run);
  }
  return runs;
}

/// The values of numpy 2: mean, median, std, var, min and max of [2, 4, 4, 4, 5, 5, 7, 9].
TEST(VirtualPropertiesTest, AreThoseOfNumpy) {
  const std::vector<Measurement> runs = Runs({4, 9, 4, 2, 5, 4, 7, 5});
  const std::vector<Measurement> one = Aggregated(ResultSet(runs), AggregationsOf(kAll));
  ASSERT_THAT(one, SizeIs(1));
  std::vector<double> values;
  for (const std::string& name : kAll) {
    values.push_back(NumberOf(one[0], "train_tokens_per_second-" + name).value());
  }
  EXPECT_THAT(values, Pointwise(DoubleNear(1e-12), std::vector<double>{5, 4.5, 2, 4, 2, 9}));
  EXPECT_EQ(NumberOf(one[0], "runs"), 8);
  EXPECT_EQ(one[0].units.at("train_tokens_per_second-std"), "tokens/s");
  EXPECT_EQ(one[0].units.at("train_tokens_per_second-variance"), "(tokens/s)^2");
  EXPECT_THAT(one[0].properties, SizeIs(7));  // neither texts nor Booleans
}

TEST(VirtualPropertiesTest, HaveNamesThatAreReadBack) {
  for (const Aggregation& aggregation : Aggregations()) {
    const auto read = ParseVirtualProperty(VirtualPropertyName("a-b", aggregation));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->target, "a-b");
    EXPECT_EQ(read->aggregation, &aggregation);
  }
  EXPECT_FALSE(ParseVirtualProperty("mean"));
  EXPECT_FALSE(ParseVirtualProperty("tokens-mode"));
}

TEST(VirtualPropertiesTest, OfOneRunThereIsNoSpread) {
  const std::vector<Measurement> runs = Runs({3});
  const std::vector<Measurement> one = Aggregated(ResultSet(runs), AggregationsOf(kAll));
  EXPECT_EQ(NumberOf(one[0], "train_tokens_per_second-std"), 0);
  EXPECT_EQ(NumberOf(one[0], "train_tokens_per_second-median"), 3);
}

TEST(VirtualPropertiesTest, ConfigurationsAreNotMixedAndWhatIsNotValidStands) {
  std::vector<Measurement> runs = Runs({1, 3, 10});
  runs[2].provenance["host"] = "elsewhere";
  runs.push_back(MakeInvalid({.batch_size = 64}, "out of memory"));
  const std::vector<Measurement> aggregated =
      Aggregated(ResultSet(runs), AggregationsOf(std::vector<std::string>{"mean"}));
  ASSERT_THAT(aggregated, SizeIs(3));
  std::vector<double> means;
  std::string reason;
  for (const Measurement& measurement : aggregated) {
    if (const auto mean = NumberOf(measurement, "train_tokens_per_second-mean")) {
      means.push_back(*mean);
    }
    reason += measurement.reason;
  }
  EXPECT_THAT(means, ::testing::UnorderedElementsAre(2, 10));
  EXPECT_EQ(reason, "out of memory");
}

TEST(VirtualPropertiesTest, ATableHasARowForEachConfiguration) {
  std::vector<Measurement> runs(3, MakeValid({}));
  const auto rows = AggregationsOf(std::vector<std::string>{"median", "std"});
  const std::string table = RenderAggregatesTable(runs, rows, 4);
  EXPECT_THAT(table, ContainsRegex("runs +real tokens/s median +real tokens/s std"));
  EXPECT_THAT(table, ContainsRegex("\n +3 +[0-9,.]+ +0"));
  EXPECT_THAT(table, HasSubstr("1 of 4 points"));
  EXPECT_EQ(RenderAggregatesTable({}, rows), "No measurements.\n");
}

}  // namespace
}  // namespace assay::report
