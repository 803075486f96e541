#include "report/model/report_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/metric.h"
#include "report/model/parts.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using nlohmann::json;
using samplestore::Measurement;
using testing::DemoSpace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeFailed;
using testing::MakeInvalid;
using testing::MakeValid;

json ModelOf(const std::vector<Measurement>& measurements, std::span<const UnmeasuredPoint> unmeasured = {},
             size_t planned = 0, const ModelLimits& limits = {}) {
  const ReportInput input{.title = "T",
                          .measurements = measurements,
                          .planned_points = planned,
                          .unmeasured = unmeasured,
                          .generated_at = "today"};
  return ReportModel(ReportContent(input), limits);
}

size_t PlaceOf(const json& list, std::string_view key, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const json& entry) { return entry.at(key) == name; });
  EXPECT_NE(found, list.end()) << name;
  return static_cast<size_t>(found - list.begin());
}

TEST(ReportModelTest, EveryEstimateHasItsNumberItsIntervalAndWhatTheyRestOn) {
  std::vector<Measurement> measurements = {MakeValid({.batch_size = 4, .seed = 1})};
  for (const double speed : {100.0, 101.0, 102.0}) {
    measurements.push_back(MakeValid({.batch_size = 8, .seed = 7}));
    measurements.back().properties["real_tokens_per_second"] = speed;
  }
  const json model = ModelOf(measurements);
  const json& throughput = model.at("configurations").at("estimates").at("throughput");
  EXPECT_EQ(throughput.at("n"), json({24, 3}));
  EXPECT_EQ(throughput.at("basis"), json({"steps", "runs"}));
  EXPECT_EQ(throughput.at("value")[1], 101);
  // t(2) = 4.303, s = 1, n = 3.
  EXPECT_NEAR(throughput.at("high")[1].get<double>(), 101 + 4.302653 / std::sqrt(3.0), 1e-4);
  EXPECT_NEAR(throughput.at("error")[1].get<double>(), 1 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(throughput.at("freedom"), json({9, 2}));
  EXPECT_EQ(model.at("configurations").at("runs"), json({1, 3}));
}

TEST(ReportModelTest, PartsAndWhatWasForetoldSayOfHowManyRunsTheyAre) {
  constexpr int64_t kMib = 1024 * 1024;
  std::vector<Measurement> measurements;
  const auto add = [&](int64_t batch, int64_t mib) {
    measurements.push_back(MakeValid({.batch_size = batch, .seed = static_cast<uint64_t>(batch)}));
    measurements.back().properties["predicted_peak_bytes"] = 1900 * kMib;
    measurements.back().properties["peak_tensor_bytes"] = mib * kMib;
    measurements.back().properties["backward_peak_tensor_bytes"] = mib * kMib;
  };
  add(4, 1000);
  for (const int64_t mib : {2000, 2001, 2002}) {
    add(8, mib);
  }
  const json model = ModelOf(measurements);
  const json& foretold = model.at("predictions").at(0);
  EXPECT_EQ(foretold.at("n"), json({1, 3}));
  EXPECT_TRUE(foretold.at("low").at(0).is_null());
  // t(2) = 4.303, s = 1, n = 3; in GiB.
  EXPECT_NEAR(1024 * foretold.at("high").at(1).get<double>(), 2001 + 4.302653 / std::sqrt(3.0), 1e-2);
  const json& table = model.at("breakdowns").at(PlaceOf(model.at("breakdowns"), "id", "memory_phases"));
  const json& peak = table.at("columns").at(PlaceOf(table.at("columns"), "target", "backward_peak_tensor_bytes"));
  EXPECT_EQ(peak.at("n"), json({1, 3}));
  EXPECT_TRUE(peak.at("high").at(0).is_null());
  EXPECT_NEAR(1024 * peak.at("low").at(1).get<double>(), 2001 - 4.302653 / std::sqrt(3.0), 1e-2);
}

TEST(ReportModelTest, WithoutTheSeriesOfRunsEverythingElseIsTheSame) {
  std::vector<Measurement> measurements = DemoSpace();
  for (Measurement& measurement : measurements) {
    measurement.properties.erase("step_seconds_median");
  }
  measurements.push_back(MakeFailed({.batch_size = 16, .seed = 9}, "killed"));
  json whole = ModelOf(measurements);
  size_t values = 0;
  for (Measurement& measurement : measurements) {
    CondenseSeries(measurement);
    for (const auto& [name, series] : measurement.series) {
      values += series.size();
    }
  }
  EXPECT_LE(values, 3 * measurements.size());
  json condensed = ModelOf(measurements);
  whole.erase("runs");
  condensed.erase("runs");
  EXPECT_EQ(condensed, whole);
}

TEST(ReportModelTest, AllStatesOfAPointAreToldApart) {
  std::vector<Measurement> measurements = {
      MakeValid({.batch_size = 1}), MakeInvalid({.batch_size = 2}, "a rule forbids it"),
      MakeInvalid({.batch_size = 4}, "out of memory"), MakeFailed({.batch_size = 8}, "killed"),
      MakeFailed({.batch_size = 12}, "behind at step 5")};
  measurements.back().provenance[samplestore::kEndedEarly] = "median";
  const UnmeasuredPoint missing[] = {{measurements[0].experiment, measurements[0].parameterized_id, [&] {
                                        space::Entity entity = measurements[0].entity;
                                        entity["batch_size"] = int64_t{16};
                                        return entity;
                                      }()}};
  const json model = ModelOf(measurements, missing, 6);
  EXPECT_EQ(model.at("configurations").at("state"),
            json({"valid", "invalid", "out_of_memory", "failed", "ended_early"}));
  EXPECT_EQ(model.at("counts").at("ended_early"), 1);
  EXPECT_EQ(model.at("counts").at("failed"), 1);
  EXPECT_EQ(model.at("counts").at("missing"), 1);
  EXPECT_EQ(model.at("axes").size(), 1u) << model.at("axes");
  EXPECT_EQ(model.at("axes")[0].at("values"), json({1, 2, 4, 8, 12, 16}));
  EXPECT_EQ(model.at("configurations").at("axes").at("batch_size"), json({0, 1, 2, 3, 4}));
  EXPECT_EQ(model.at("unmeasured").at("axes").at("batch_size"), json({5}));
}

TEST(ReportModelTest, AMachineIsAnAxisAndAGroupOfItsOwn) {
  std::vector<Measurement> measurements = DemoSpace();
  for (size_t i = 0; i < 4; ++i) {
    measurements[i].provenance["host"] = "laptop";
  }
  const json model = ModelOf(measurements);
  EXPECT_EQ(model.at("conditions"), json({"host"}));
  const json& host = model.at("axes")[PlaceOf(model.at("axes"), "name", "host")];
  EXPECT_TRUE(host.at("condition"));
  EXPECT_EQ(host.at("values"), json({"laptop", "workbench"}));
  std::set<int> groups;
  for (const json& group : model.at("configurations").at("group")) {
    groups.insert(group.get<int>());
  }
  EXPECT_THAT(groups, ElementsAre(0, 1));
}

TEST(ReportModelTest, FindingsHaveTheirStrengthAndBothProbabilities) {
  const json findings = ModelOf(DemoSpace()).at("findings");
  EXPECT_GT(findings.at("comparisons"), 2);
  const json& first = findings.at("list")[0];
  EXPECT_THAT(first.at("headline").get<std::string>(), HasSubstr("Fastest"));
  EXPECT_EQ(first.at("configurations").size(), 2u);
  const auto compared = std::ranges::find_if(findings.at("list"),
                                             [](const json& finding) { return !finding.at("comparison").is_null(); });
  ASSERT_NE(compared, findings.at("list").end());
  EXPECT_EQ(first.at("link").at("by"), "run");
  EXPECT_EQ(compared->at("link").at("by"), "a_" + compared->at("comparison").at("axis").get<std::string>());
  EXPECT_EQ(compared->at("link").at("b"), compared->at("comparison").at("to"));
  EXPECT_LE(compared->at("p").get<double>(), compared->at("adjusted_p").get<double>());
}

TEST(ReportModelTest, ALineThroughTwoSizesSaysSo) {
  const json lines = ModelOf(DemoSpace()).at("lines");
  ASSERT_EQ(lines.at("list").size(), 4u);
  EXPECT_FALSE(lines.at("list")[0].at("fitted"));
  EXPECT_TRUE(lines.at("list")[0].at("r_squared").is_null());
  EXPECT_TRUE(lines.at("list")[0].at("fixed_interval").is_null());
}

TEST(ReportModelTest, ALongSeriesKeepsItsExtremes) {
  Measurement run = MakeValid({.steps = 20000});
  run.series["loss"][12345] = 99;
  const json series = ModelOf({run}).at("runs").at("series").at(run.uid).at("loss");
  EXPECT_LE(series.at("x").size(), 400u);
  EXPECT_EQ(series.at("of"), 20000);
  const auto peak = std::ranges::find(series.at("y"), json(99));
  ASSERT_NE(peak, series.at("y").end());
  EXPECT_EQ(series.at("x")[static_cast<size_t>(peak - series.at("y").begin())], 12346);
}

TEST(ReportModelTest, StepsWithoutALossAreAHole) {
  Measurement run = MakeValid({.steps = 4});
  run.series["loss"] = {3, std::nan(""), 2, 1};
  const json series = ModelOf({run}).at("runs").at("series").at(run.uid).at("loss");
  EXPECT_EQ(series.at("x"), json({1, 2, 3, 4}));
  EXPECT_EQ(series.at("y"), json({3, nullptr, 2, 1}));
  EXPECT_EQ(series.at("of"), 3);
  EXPECT_EQ(series.at("missing"), 1);
}

TEST(ReportModelTest, ALossThatIsNoNumberThroughoutIsSaidAndWhatADeviceDoesNotTellIsNot) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Measurement run = MakeValid({.steps = 3});
  run.series["loss"] = {kNan, kNan, kNan};
  run.series["time_s"] = {0, 1};
  run.series["gpu0.power_watts"] = {kNan, kNan};
  const json series = ModelOf({run}).at("runs").at("series").at(run.uid);
  ASSERT_TRUE(series.contains("loss"));
  EXPECT_EQ(series.at("loss").at("of"), 0);
  EXPECT_EQ(series.at("loss").at("missing"), 3);
  EXPECT_FALSE(series.contains("gpu0.power_watts"));
}

TEST(ReportModelTest, WhatWasSampledAtNoTimeIsNotCounted) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Measurement run = MakeValid({.steps = 8});
  run.series["time_s"] = {0, 1, kNan, kNan};
  run.series["cpu_tree_percent"] = {100, kNan, 100, kNan};
  const json series = ModelOf({run}).at("runs").at("series").at(run.uid).at("cpu_tree_percent");
  EXPECT_EQ(series.at("y"), json({100, nullptr}));
  EXPECT_EQ(series.at("of"), 1) << "nothing was thinned";
  EXPECT_EQ(series.at("missing"), 1);
}

TEST(ReportModelTest, TheRunsOfAFrontAreToldFirstWhereNotAllAre) {
  const std::vector<Measurement> measurements = DemoSpace();
  const json model = ModelOf(measurements, {}, 0, {.run_values = 60, .series_points = 100});
  EXPECT_LT(model.at("runs").at("detailed"), 8);
  EXPECT_EQ(model.at("runs").at("count"), 8);
  EXPECT_EQ(model.at("runs").at("uid").size(), 8u);
  const size_t fastest = model.at("findings").at("list")[0].at("configurations")[0];
  const auto& of_configuration = model.at("runs").at("configuration");
  const size_t run = static_cast<size_t>(std::ranges::find(of_configuration, json(fastest)) - of_configuration.begin());
  EXPECT_TRUE(model.at("runs").at("values").contains(model.at("runs").at("uid")[run]));
}

TEST(ReportModelTest, WhatIsNotFiniteIsNull) {
  EXPECT_TRUE(Rounded(std::nan("")).is_null());
  EXPECT_TRUE(Rounded(INFINITY).is_null());
  EXPECT_EQ(Rounded(-INFINITY).dump(), "null");
}

TEST(ReportModelTest, NumbersHaveSevenDigits) {
  EXPECT_EQ(Rounded(0.1 + 0.2).dump(), "0.3");
  EXPECT_EQ(Rounded(1234567.89).dump(), "1234568");
  EXPECT_EQ(Rounded(-0.000012345678).dump(), "-1.234568e-05");
  EXPECT_EQ(Rounded(1e300).get<double>(), 1e300);
  EXPECT_EQ(Rounded(5e-324).get<double>(), 5e-324);
  EXPECT_EQ(Rounded(0).dump(), "0");
}

TEST(ReportModelTest, NothingMeasuredIsAModelToo) {
  const json model = ModelOf({});
  EXPECT_EQ(model.at("configurations").at("count"), 0);
  EXPECT_EQ(model.at("findings").at("list"), json::array());
  EXPECT_NO_THROW(DumpJson(model));
}

TEST(ReportModelTest, TextThatIsNoUtf8IsStillJson) {
  Measurement run = MakeInvalid({}, "\xff broken");
  EXPECT_TRUE(ParseJson(DumpJson(ModelOf({run})), "model").ok());
}

}  // namespace
}  // namespace assay::report
