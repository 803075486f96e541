#include "report/charts/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using nlohmann::json;
using samplestore::Measurement;
using testing::DemoSpace;
using ::testing::IsSupersetOf;
using testing::MakeInvalid;
using testing::MakeValid;
using testing::VitSpace;

json ChartsOf(const std::vector<Measurement>& measurements) {
  const ReportInput input{.title = "T", .measurements = measurements};
  return ChartsJson(ReportContent(input));
}

std::vector<std::string> IdsOf(const json& charts) {
  std::vector<std::string> ids;
  for (const json& chart : charts) {
    ids.push_back(chart.at("id"));
  }
  return ids;
}

json ChartOf(const json& charts, std::string_view id) {
  const auto found = std::ranges::find_if(charts, [&](const json& chart) { return chart.at("id") == id; });
  EXPECT_NE(found, charts.end()) << id;
  return *found;
}

json ChoiceOf(const json& chart, std::string_view name) {
  const auto found =
      std::ranges::find_if(chart.at("choices"), [&](const json& choice) { return choice.at("name") == name; });
  return found == chart.at("choices").end() ? json() : *found;
}

TEST(ChartsTest, EveryKindIsThereWhereItHasSomethingToShow) {
  std::vector<std::string> ids = IdsOf(ChartsOf(VitSpace(378)));
  for (const ChartKind& kind : ChartKinds()) {
    const bool of_length = kind.id.ends_with("_by_length");
    EXPECT_EQ(std::ranges::count(ids, kind.id), of_length ? 0 : 1) << kind.id;
  }
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_THAT(IdsOf(ChartsOf(DemoSpace())), IsSupersetOf({"throughput_by_length", "memory_by_length"}));
}

TEST(ChartsTest, ExperimentsBringTheirsWhereTheirPartsWereMeasured) {
  EXPECT_THAT(IdsOf(ChartsOf(VitSpace(20))), IsSupersetOf({"vit_memory", "vit_time"}));
  const std::vector<std::string> of_tunes = IdsOf(ChartsOf(DemoSpace()));
  EXPECT_THAT(of_tunes, ::testing::Contains("memory_phases"));
  EXPECT_THAT(of_tunes, ::testing::Not(::testing::Contains("vit_time")));
}

TEST(ChartsTest, AReferenceInASpecificationIsOneOfItsChoices) {
  for (const json& chart : ChartsOf(VitSpace(378))) {
    const std::string spec = chart.at("spec").dump();
    for (size_t at = spec.find('@'); at != std::string::npos; at = spec.find('@', at + 1)) {
      const size_t end = spec.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 1);
      EXPECT_FALSE(ChoiceOf(chart, spec.substr(at + 1, end - at - 1)).is_null())
          << chart.at("id") << " " << spec.substr(at, 20);
    }
  }
}

TEST(ChartsTest, ThroughputStandsAgainstMemoryAndColoursWhatIsCompared) {
  const json pareto = ChartOf(ChartsOf(VitSpace(378)), "pareto");
  EXPECT_EQ(ChoiceOf(pareto, "y").at("chosen"), "m_throughput");
  EXPECT_EQ(ChoiceOf(pareto, "x").at("chosen"), "m_peak_tensor_memory");
  EXPECT_EQ(ChoiceOf(pareto, "color").at("chosen"), "a_plugin");
}

TEST(ChartsTest, WhatIsNeitherColourNorShapeMakesPanels) {
  const json chart = ChartOf(ChartsOf(VitSpace(378)), "throughput_by_batch");
  EXPECT_EQ(ChoiceOf(chart, "x").at("chosen"), "a_batch_size");
  EXPECT_EQ(ChoiceOf(chart, "color").at("chosen"), "a_plugin");
  EXPECT_EQ(ChoiceOf(chart, "shape").at("chosen"), "a_precision");
  EXPECT_EQ(chart.at("panels"), json({"number_ranks"}));
}

TEST(ChartsTest, NothingToDrawIsNoChart) {
  EXPECT_EQ(ChartsOf({}), json::array());
  EXPECT_THAT(IdsOf(ChartsOf({MakeInvalid({.batch_size = 1}, "no"), MakeInvalid({.batch_size = 2}, "no")})),
              ::testing::Not(::testing::Contains("pareto")));
  EXPECT_THAT(IdsOf(ChartsOf({MakeValid({})})), ::testing::Contains("pareto"));
}

}  // namespace
}  // namespace assay::report
