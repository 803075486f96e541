#include "report/fixed_cost.h"

#include <gmock/gmock.h>

#include <cmath>

#include "report/format.h"
#include "report/html_report.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

constexpr char kVit[] = "vit_plugin_benchmark-v1.0.0";

/// A run whose steps take exactly fixed + 0.02 s * batch.
samplestore::Measurement RunOf(const std::string& plugin, int64_t ranks, int64_t batch, double fixed) {
  samplestore::Measurement m = testing::MakeValid({.batch_size = batch});
  m.experiment = m.parameterized_id = kVit;
  m.entity["plugin"] = plugin;
  m.entity["number_ranks"] = ranks;
  m.entity_id = space::EntityId(m.entity);
  m.series.clear();
  m.properties["step_seconds_median"] = fixed + 0.02 * static_cast<double>(batch);
  return m;
}

experiment::PublishedFixedCosts Published() {
  return {.property = "plugin",
          .baseline = "torch_ddp",
          .baseline_batch_size = 8,
          .baseline_step_seconds = 0.4,
          .fixed_seconds = {{"low_level_zero", 0.1}, {"gemini", 0.2}}};
}

std::vector<samplestore::Measurement> Runs() {
  std::vector<samplestore::Measurement> runs;
  for (const int64_t batch : {8, 16, 32}) {
    runs.push_back(RunOf("torch_ddp", 1, batch, 0.04));
    runs.push_back(RunOf("low_level_zero", 1, batch, 0.07));
    runs.push_back(RunOf("FULL_SHARD", 1, batch, 0.05));
    runs.push_back(RunOf("low_level_zero", 2, batch, 0.09));  // without a baseline on two ranks
  }
  return runs;
}

TEST(FixedCostTest, ComparesWithTheBaselineUnderTheSameConditionsAndScalesWhatWasPublished) {
  const std::vector<samplestore::Measurement> runs = Runs();
  const ResultSet results(runs);
  const std::vector<CostLine> lines = FitCostLines(results, ResolveMetrics(results));
  const std::vector<FixedCost> rows = CompareFixedCosts(results, lines, Published());
  ASSERT_EQ(rows.size(), 1);
  EXPECT_NEAR(rows[0].beyond_seconds, 0.03, 1e-9);
  EXPECT_NEAR(rows[0].half_width_seconds, 0, 1e-6);
  EXPECT_DOUBLE_EQ(rows[0].published_seconds, 0.1);
  // Our baseline takes 0.2 s at batch 8, half of what was published.
  EXPECT_NEAR(rows[0].scaled_seconds, 0.05, 1e-9);
}

TEST(FixedCostTest, StandsInTheReport) {
  const std::vector<samplestore::Measurement> runs = Runs();
  const auto vit = experiment::FindExperiment(kVit);
  const experiment::PublishedFixedCosts& published = *(*vit)->declaration().report.fixed_costs;
  const std::string html = RenderHtmlReport({.title = "plugins", .space_description = "", .measurements = runs});
  EXPECT_THAT(html, ::testing::HasSubstr("published, scaled"));
  const double scaled = published.fixed_seconds.at("low_level_zero") * 0.2 / published.baseline_step_seconds;
  EXPECT_THAT(html, ::testing::HasSubstr(">" + Readable(1000 * scaled) + "</td>"));
}

}  // namespace
}  // namespace assay::report
