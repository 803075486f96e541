#include "report/characterization.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/estimates.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Two batch sizes on 1, 2 and 4 GPUs, three runs each: two give 1.8 times one, four give 3 times.
std::vector<Measurement> Scaled() {
  std::vector<Measurement> runs;
  for (const auto& [gpus, speedup] : {std::pair(1, 1.0), std::pair(2, 1.8), std::pair(4, 3.0)}) {
    for (const int64_t batch_size : {2, 4}) {
      for (const double noise : {-1, 0, 1}) {
        Measurement run = testing::MakeValid({.batch_size = batch_size});
        run.uid = std::to_string(runs.size());
        run.series.clear();
        run.entity["number_gpus"] = space::Value(int64_t{gpus});
        run.entity_id += "." + std::to_string(gpus);
        const double gib = 1024.0 * 1024 * 1024;
        run.properties = {{"real_tokens_per_second", speedup * static_cast<double>(batch_size) * (100 + noise)},
                          {"peak_tensor_bytes", static_cast<double>(batch_size) * gib}};
        runs.push_back(run);
      }
    }
  }
  return runs;
}

TEST(CharacterizationTest, EfficiencyIsOfWhatAsManyTimesTheRanksWouldGive) {
  const std::vector<Measurement> runs = Scaled();
  const ResultSet results(runs);
  const std::vector<ScalingStep> steps = FindScaling(results, ResolveMetrics(results));
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_NEAR(steps[0].speedup.ratio, 1.8, 1e-9);
  EXPECT_NEAR(steps[0].efficiency, 0.9, 1e-9);
  EXPECT_NEAR(steps[1].efficiency, 0.75, 1e-9);
  ASSERT_TRUE(steps[1].interval && steps[1].adjusted_p_value);
  EXPECT_LT(steps[1].interval->first, 0.75);
  EXPECT_GT(steps[1].interval->second, 0.75);
  EXPECT_LT(*steps[1].adjusted_p_value, 0.001);
  EXPECT_GE(*steps[1].adjusted_p_value, *steps[1].speedup.p_value);
}

TEST(CharacterizationTest, ScalingBeginsWhereSomethingWasMeasured) {
  std::vector<Measurement> runs = Scaled();
  for (Measurement& run : runs) {
    if (run.entity["number_gpus"] == space::Value(int64_t{1})) {
      run.outcome = samplestore::Outcome::kInvalid;
      run.reason = "out of memory";
      run.properties.clear();
    }
  }
  const ResultSet results(runs);
  const std::vector<ScalingStep> steps = FindScaling(results, ResolveMetrics(results));
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_NEAR(steps[0].efficiency, 3.0 / 1.8 / 2, 1e-9);
}

TEST(CharacterizationTest, HasPairsWithCorrectionAndFronts) {
  const std::vector<Measurement> runs = Scaled();
  const nlohmann::json all = CharacterizationJson(ResultSet(runs));
  EXPECT_EQ(all["points"], 6);
  ASSERT_EQ(all["scaling"].size(), 2);
  EXPECT_EQ(all["scaling"][1]["to"], 4);
  ASSERT_FALSE(all["pairs"].empty());
  EXPECT_GE(all["pairs"][0]["adjusted_p"].get<double>(), all["pairs"][0]["p"].get<double>());
  ASSERT_EQ(all["fronts"].size(), 1);
  EXPECT_EQ(all["fronts"][0]["configurations"].size(), 2) << "of each batch size the most GPUs";
  const std::string text = CharacterizationText(all);
  EXPECT_THAT(text, HasSubstr("75 %"));
  EXPECT_THAT(text, HasSubstr("[clear]"));
  EXPECT_THAT(text, HasSubstr("Nothing beats in real tokens/s and tensor GiB"));
}

TEST(CharacterizationTest, WithoutRanksOrMeasurementsThereIsNoScaling) {
  const std::vector<Measurement> demo = testing::DemoSpace();
  EXPECT_THAT(CharacterizationJson(ResultSet(demo))["scaling"], IsEmpty());
  EXPECT_EQ(CharacterizationText(CharacterizationJson(ResultSet({}))), "");
}

TEST(CharacterizationTest, EnergyStandsBesideSpeedAndMemoryWhereItWasMeasured) {
  std::vector<Measurement> runs = Scaled();
  const nlohmann::json without = CharacterizationJson(ResultSet(runs));
  EXPECT_EQ(without["resources"]["missing"], nlohmann::json({"energy"}));
  EXPECT_THAT(CharacterizationText(without), HasSubstr("not measured: energy, which GPUs alone tell"));
  for (Measurement& run : runs) {
    // More GPUs are faster in the same memory and do less for a joule, but for a batch of 4 on two, which four beat in
    // all; of a batch of 4 on one nobody knows.
    const auto gpus = std::get<int64_t>(run.entity["number_gpus"]);
    const bool is_small = run.entity["batch_size"] == space::Value(int64_t{2});
    if (gpus > 1 || is_small) {
      run.properties["tokens_per_joule"] = gpus == 2 && !is_small ? 1.0 : 10.0 / static_cast<double>(gpus);
    }
  }
  const nlohmann::json with = CharacterizationJson(ResultSet(runs));
  const nlohmann::json& resources = with["resources"];
  EXPECT_EQ(resources["metrics"], nlohmann::json({"real tokens/s", "tensor GiB", "energy tokens/J"}));
  EXPECT_EQ(resources["configurations"].size(), 4);
  EXPECT_EQ(resources["unknown"], 1);
  const std::string text = CharacterizationText(with);
  EXPECT_THAT(text, HasSubstr("Nothing beats in real tokens/s, tensor GiB, energy tokens/J at once"));
  EXPECT_THAT(text, HasSubstr("1 configuration without a measured energy"));
}

TEST(CharacterizationTest, WhatKeepsSpeedMemoryAndEnergyFromAFrontIsNamed) {
  std::vector<Measurement> runs = Scaled();
  for (Measurement& run : runs) {
    run.properties.erase("peak_tensor_bytes");
    run.properties["tokens_per_joule"] = 10.0;
  }
  EXPECT_EQ(CharacterizationJson(ResultSet(runs))["resources"]["missing"], nlohmann::json({"memory"}));
  const char* const kept = R"({"scaling": [], "pairs": [], "fronts": [{"x": "a", "y": "b", "configurations": []}],
                               "resources": {"missing": ["memory"]}})";
  const std::string text = CharacterizationText(nlohmann::json::parse(kept));
  EXPECT_THAT(text, HasSubstr("No front of speed, memory and energy: not measured: memory\n"));
}

TEST(CharacterizationTest, WhatIsOfAnotherFormHasNoText) {
  for (const char* other : {"3", "[]", "{}", R"({"scaling": [{}], "pairs": [], "fronts": []})",
                            R"({"scaling": [], "pairs": 1, "fronts": [{"x": "a", "y": "b", "configurations": {}}]})",
                            R"({"scaling": [], "pairs": [{"headline": 1}], "fronts": []})"}) {
    EXPECT_EQ(CharacterizationText(nlohmann::json::parse(other)), "") << other;
  }
}

}  // namespace
}  // namespace assay::report
