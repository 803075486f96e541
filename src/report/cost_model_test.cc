#include "report/cost_model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <span>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

/// A run of `plugin` with steps of exactly t = fixed + per_sample * batch.
samplestore::Measurement RunOf(const std::string& plugin, int64_t batch, double fixed, double per_sample, double gib,
                               double gib_per_sample) {
  samplestore::Measurement m = testing::MakeValid({.batch_size = batch, .seed = static_cast<uint64_t>(batch)});
  m.entity["plugin"] = plugin;
  m.entity_id = space::EntityId(m.entity);
  m.series.clear();
  m.properties["step_seconds_median"] = fixed + per_sample * static_cast<double>(batch);
  m.properties["peak_tensor_bytes"] = static_cast<int64_t>(kGib * (gib + gib_per_sample * static_cast<double>(batch)));
  return m;
}

std::vector<samplestore::Measurement> TwoPlugins() {
  std::vector<samplestore::Measurement> runs;
  for (int64_t batch : {8, 32, 64}) {
    runs.push_back(RunOf("torch_ddp", batch, 0.02, 0.02, 1.5, 0.02));
    runs.push_back(RunOf("gemini", batch, 0.2, 0.01, 0.2, 0.01));
  }
  return runs;
}

class CostModelTest : public ::testing::Test {
 protected:
  const CostLine& LineOf(std::string_view label) const {
    return *std::find_if(lines_.begin(), lines_.end(), [&](const CostLine& line) { return line.label == label; });
  }

  std::vector<samplestore::Measurement> runs_ = TwoPlugins();
  ResultSet results_{runs_};
  std::vector<Metric> metrics_ = ResolveMetrics(results_);
  std::vector<CostLine> lines_ = FitCostLines(results_, metrics_);
};

TEST_F(CostModelTest, FindsTheLineOfEachSeries) {
  ASSERT_EQ(lines_.size(), 2);
  const CostLine& ddp = LineOf("torch_ddp");
  EXPECT_EQ(ddp.points.size(), 3);
  EXPECT_NEAR(ddp.step_seconds.intercept, 0.02, 1e-9);
  EXPECT_NEAR(ddp.limit_throughput(), 50, 1e-6);
  ASSERT_TRUE(ddp.memory_gib.has_value());
  EXPECT_NEAR(ddp.memory_gib->At(0), 1.5, 1e-6);
  EXPECT_EQ(ddp.smallest_batch, 8);
  EXPECT_EQ(ddp.largest_batch, 64);
}

TEST_F(CostModelTest, OneBatchSizeMakesNoLine) {
  const std::vector<samplestore::Measurement> one = {RunOf("gemini", 8, 1, 1, 1, 1)};
  const ResultSet results(one);
  EXPECT_TRUE(FitCostLines(results, ResolveMetrics(results)).empty());
}

TEST_F(CostModelTest, TwoMachinesMakeTwoLines) {
  std::vector<samplestore::Measurement> runs = {RunOf("gemini", 8, 0, 0.01, 1, 0), RunOf("gemini", 32, 0, 0.01, 1, 0)};
  for (const samplestore::Measurement& slow : {RunOf("gemini", 16, 0, 0.1, 1, 0), RunOf("gemini", 64, 0, 0.1, 1, 0)}) {
    runs.push_back(slow);
    runs.back().provenance["host"] = "laptop";
  }
  const ResultSet results(runs);
  const std::vector<CostLine> lines = FitCostLines(results, ResolveMetrics(results));
  ASSERT_EQ(lines.size(), 2);
  EXPECT_NEAR(lines[0].step_seconds.slope, 0.01, 1e-9);
  EXPECT_NEAR(lines[1].step_seconds.slope, 0.1, 1e-9);
  EXPECT_EQ(lines[0].sizes, 2);
  EXPECT_TRUE(FindCrossings(results, lines).empty());
}

TEST_F(CostModelTest, LinesOnOtherNumbersOfRanksAreOtherMachines) {
  for (samplestore::Measurement& run : runs_) {
    run.entity["number_ranks"] = int64_t{run.entity["plugin"] == space::Value(std::string("gemini")) ? 4 : 1};
    run.entity_id = space::EntityId(run.entity);
  }
  const ResultSet results(runs_);
  const std::vector<CostLine> lines = FitCostLines(results, metrics_);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_TRUE(FindCrossings(results, lines).empty());
}

TEST_F(CostModelTest, LinesOnOtherNumbersOfRanksAreOtherMachinesWhereTheRanksAreAParameter) {
  for (samplestore::Measurement& run : runs_) {
    const int64_t ranks = run.entity["plugin"] == space::Value(std::string("gemini")) ? 4 : 2;
    run.parameters = {{"number_ranks", ranks}};
    run.parameterized_id += "-number_ranks." + std::to_string(ranks);
  }
  const ResultSet results(runs_);
  const std::vector<CostLine> lines = FitCostLines(results, metrics_);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_TRUE(FindCrossings(results, lines).empty());
}

TEST_F(CostModelTest, LinesOfOneMachineCrossWhereTheyMeet) {
  const std::vector<Crossing> crossings = FindCrossings(results_, lines_);
  ASSERT_EQ(crossings.size(), 1);
  EXPECT_EQ(crossings[0].winner->label, "gemini");
  EXPECT_EQ(crossings[0].loser->label, "torch_ddp");
  EXPECT_NEAR(crossings[0].batch_size, 18, 1e-6);
}

TEST_F(CostModelTest, LinesThroughTwoPointsCrossNothingAndForetellNothing) {
  std::erase_if(runs_, [](const auto& run) { return run.entity.at("batch_size") == space::Value(int64_t{64}); });
  const ResultSet results(runs_);
  const std::vector<CostLine> lines = FitCostLines(results, metrics_);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_TRUE(FindCrossings(results, lines).empty());
  EXPECT_TRUE(ForetellByOthers(results, lines, metrics_).empty());
}

TEST_F(CostModelTest, APointIsForetoldByTheOthersAlone) {
  for (samplestore::Measurement& run : runs_) {
    if (run.entity.at("batch_size") == space::Value(int64_t{64})) {
      run.properties["step_seconds_median"] = 99.0;
    }
  }
  const ResultSet results(runs_);
  for (const Foretold& foretold : ForetellByOthers(results, FitCostLines(results, metrics_), metrics_)) {
    EXPECT_EQ(foretold.sizes, 2);
    if (foretold.point->At("batch_size") == space::Value(int64_t{64})) {
      const bool gemini = foretold.point->At("plugin") == space::Value(std::string("gemini"));
      EXPECT_NEAR(foretold.step_seconds, gemini ? 0.84 : 1.3, 1e-9) << "what was measured there does not count";
    }
  }
}

TEST_F(CostModelTest, RecommendsTheFastestThatFits) {
  const auto small = Recommend(lines_, {.batch_size = 8, .memory_gib = 4});
  EXPECT_EQ(small[0].line->label, "torch_ddp");  // 0.18 s against 0.28 s
  const auto large = Recommend(lines_, {.batch_size = 64, .memory_gib = 4});
  EXPECT_EQ(large[0].line->label, "gemini");  // 0.84 s against 1.3 s
  const auto tight = Recommend(lines_, {.batch_size = 8, .memory_gib = 1});
  EXPECT_EQ(tight[0].line->label, "gemini");
  EXPECT_EQ(tight[1].objection, "needs 1.66 GiB");
}

TEST_F(CostModelTest, TakesTheLargestBatchThatTheMemoryAllows) {
  const auto predictions = Recommend(lines_, {.memory_gib = 1.005});
  EXPECT_EQ(predictions[0].line->label, "gemini");
  EXPECT_EQ(predictions[0].batch_size, 80);
  EXPECT_TRUE(predictions[0].extrapolated);
  EXPECT_NEAR(predictions[0].samples_per_second, 80, 1e-6);
  EXPECT_EQ(predictions[1].objection, "no batch size fits: 1.52 GiB are needed at 1");
}

TEST_F(CostModelTest, TakesABatchThatTheRulesAllow) {
  const auto odd = [](const CostLine&, double batch) { return std::fmod(batch, 3) == 0 ? "" : "not a multiple of 3"; };
  const auto predictions = Recommend(lines_, {.memory_gib = 1.005, .forbidden = odd});
  EXPECT_EQ(predictions[0].batch_size, 78);
  EXPECT_EQ(predictions[0].objection, "");
  EXPECT_EQ(Recommend(lines_, {.batch_size = 16, .forbidden = odd})[0].objection, "not a multiple of 3");
  const auto never = [](const CostLine&, double) { return "not here"; };
  EXPECT_EQ(Recommend(lines_, {.forbidden = never})[0].objection, "not here");
}

TEST_F(CostModelTest, CountsTheSamplesOfAllDataRanks) {
  std::vector<samplestore::Measurement> runs;
  for (int64_t batch : {8, 32}) {
    runs.push_back(RunOf("hybrid_parallel", batch, 0, 0.02, 1, 0));
    runs.push_back(RunOf("torch_ddp", batch, 0, 0.04, 1, 0));
    for (samplestore::Measurement& run : std::span(runs).last(2)) {
      const double data_ranks = run.entity["plugin"] == space::Value(std::string("torch_ddp")) ? 4 : 1;
      const double seconds = 10 * std::get<double>(run.properties["step_seconds_median"]);
      run.properties["training_steps"] = int64_t{10};
      run.properties["time_for_steps"] = seconds;
      run.properties["throughput"] = 10 * data_ranks * static_cast<double>(batch) / seconds;
    }
  }
  const ResultSet results(runs);
  const std::vector<CostLine> lines = FitCostLines(results, ResolveMetrics(results));
  const auto predictions = Recommend(lines, {.batch_size = 16});
  EXPECT_EQ(predictions[0].line->label, "torch_ddp");
  EXPECT_NEAR(predictions[0].samples_per_second, 100, 1e-6);
  EXPECT_NEAR(predictions[0].line->limit_throughput(), 100, 1e-6);
  EXPECT_NEAR(predictions[0].line->share_seconds().At(16), 0.16, 1e-9);
  EXPECT_NEAR(predictions[1].samples_per_second, 50, 1e-6);
}

TEST_F(CostModelTest, DoesNotTrustALineFarBeyondItsMeasurements) {
  const auto far = Recommend(lines_, {.batch_size = 1000});
  EXPECT_EQ(far[0].objection, "too far beyond the largest measured batch size, 64");
  const auto unlimited = Recommend(lines_, {.memory_gib = 1000});
  EXPECT_EQ(unlimited[0].batch_size, 128);
}

}  // namespace
}  // namespace assay::report
