// An experiment that nothing but this file knows: from its declaration to the page of a report.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>

#include "base/files.h"
#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/measured_values.h"
#include "experiment/point.h"
#include "explore/explore.h"
#include "explore/space_measurements.h"
#include "report/html_report.h"
#include "report/results_table.h"
#include "space/discovery_space.h"

namespace assay::report {
namespace {

using experiment::Definition;
using experiment::FineTuningDefinition;
using experiment::FineTuningExperiment;
using experiment::Measured;
using experiment::Quantity;
using experiment::RunPlan;
using job::RunEnd;
using samplestore::Measurement;
using samplestore::Outcome;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kRuns = 5;

std::string NoFewPatientSteps(const space::Entity& point) {
  const int64_t patience = experiment::IntegerOf(point, "patience");
  return experiment::IntegerOf(point, "batch_size") < patience ? "batch_size is below patience" : "";
}

/// Of the runs that ended well the loss must fall.
Status LossFalls(const RunPlan& plan, std::span<const job::RunRecord> runs) {
  for (const job::RunRecord& run : runs) {
    const std::vector<job::Step> steps = job::Steps(run);
    if (run.end == RunEnd::kDone && steps.back().loss >= steps.front().loss) {
      return Status::FailedPrecondition("the loss does not fall");
    }
  }
  return Status::Ok();
}

Result<Measured> MeasureStability(const space::Entity& point, const RunPlan& plan,
                                  std::span<const job::RunRecord> runs) {
  Measured measured;
  double calm = 0;
  double out_of_memory = 0;
  for (const job::RunRecord& run : runs) {
    calm += run.end == RunEnd::kDone ? 1 / kRuns : 0;
    out_of_memory += run.end == RunEnd::kOutOfMemory ? 1 / kRuns : 0;
  }
  measured.properties = {{"is_valid", int64_t{1}},
                         {"f_no_error", calm},
                         {"f_out_of_memory", out_of_memory},
                         {"calm_runs_per_hour", 100 * calm}};
  return measured;
}

/// float16 alone, a property of its own, five runs whatever their ends.
const FineTuningExperiment& Stability() {
  static const FineTuningExperiment stability({
      .id = "test_stability-v0.1.0",
      .description = "how often a short run ends well",
      .method = "stability",
      .properties = {Changed(experiment::FineTuningProperties(), "torch_dtype", experiment::Texts({"float16"}),
                             std::string("float16")),
                     {As({.label = "patience in steps"},
                         experiment::Required("patience", experiment::Integers(1, 9), "steps of a run", "steps")),
                      &experiment::Field<job::TunePlan, &job::TunePlan::max_steps>}},
      .rule = &NoFewPatientSteps,
      .runs = {.count = 5, .of_any_end = true},
      .gate = &LossFalls,
      .targets = {{"is_valid", "", Definition::kReference, "1"},
                  {"f_no_error", "", Definition::kReference, "part of the runs that ended well"},
                  {"f_out_of_memory", "", Definition::kReference, "part of the runs that were out of memory"},
                  {"calm_runs_per_hour", "runs/h", Definition::kExact, "of those that ended well",
                   Quantity::kThroughput}},
      .measure = &MeasureStability,
      .report = {.breakdowns = {{.id = "ends",
                                 .title = "How runs end",
                                 .text = "Of five each.",
                                 .target = "f_no_error",
                                 .columns = {{"well", "%", "f_no_error", 100},
                                             {"out of memory", "%", "f_out_of_memory", 100}}}}},
  });
  return stability;
}

/// What a worker reports whose loss goes from 3 to `last_loss`.
job::RunRecord RunWith(RunEnd end, double last_loss) {
  job::RunRecord record;
  record.end = end;
  record.reason = end == RunEnd::kDone ? "" : "made up";
  for (int64_t i = 1; i <= 2; ++i) {
    job::Step step;
    step.step = i;
    step.loss = i == 1 ? 3 : last_loss;
    record.events.emplace_back(step);
  }
  return record;
}

class DeclaredExperimentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeDirectories(Path("model")).ok());
    ASSERT_TRUE(WriteFileAtomically(Path("model/config.json"), R"({"model_type": "llama", "vocab_size": 100})").ok());
    ASSERT_TRUE(WriteFileAtomically(Path("rows.jsonl"), "{\"input_ids\": [1, 2, 3], \"labels\": [1, 2, 3]}\n").ok());
    store_ = samplestore::OpenStore("sqlite:///" + Path("runs.db")).value();
    options_.measure.context = {.share_dir = ASSAY_SOURCE_DIR "/share", .cache_dir = Path("cache")};
    options_.measure.runner = [this](const job::Plan& plan, const launch::LaunchOptions&) -> Result<job::RunRecord> {
      plans_.push_back(std::get<job::TunePlan>(plan));
      return RunWith(ends_[(plans_.size() - 1) % ends_.size()], last_loss_);
    };
  }

  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  /// One point for each batch size, with three steps each.
  experiment::BoundSpace Space(const std::string& batch_sizes) const {
    const std::string text = fmt::format(
        "entitySpace:\n"
        " - {{identifier: model_name, propertyDomain: {{values: ['{}']}}}}\n"
        " - {{identifier: dataset_id, propertyDomain: {{values: ['{}']}}}}\n"
        " - {{identifier: number_gpus, propertyDomain: {{values: [0]}}}}\n"
        " - {{identifier: model_max_length, propertyDomain: {{values: [16]}}}}\n"
        " - {{identifier: patience, propertyDomain: {{values: [3]}}}}\n"
        " - {{identifier: batch_size, propertyDomain: {{values: {}}}}}\n"
        "experiments:\n - experimentIdentifier: test_stability-v0.1.0\n",
        Path("model"), Path("rows.jsonl"), batch_sizes);
    auto space = experiment::BoundSpace::Bind(space::ParseDiscoverySpace(text, "space.yaml").value(), catalogue_);
    EXPECT_TRUE(space.ok()) << space.status().message();
    return *std::move(space);
  }

  std::vector<Measurement> Measure(const experiment::BoundSpace& space) {
    EXPECT_TRUE(explore::Explore(space, *store_, options_, {}).ok());
    return explore::MeasurementsOf(space, *store_, /*with_series=*/true).value();
  }

  TemporaryDirectory directory_ = TemporaryDirectory::Create("declared").value();
  std::vector<const experiment::Experiment*> catalogue_ = {&Stability()};
  std::unique_ptr<samplestore::SampleStore> store_;
  explore::ExploreOptions options_;
  std::vector<job::TunePlan> plans_;
  std::vector<RunEnd> ends_ = {RunEnd::kDone, RunEnd::kDone, RunEnd::kOutOfMemory, RunEnd::kError, RunEnd::kDone};
  double last_loss_ = 2;
};

TEST_F(DeclaredExperimentTest, FiveRunsOfAnyEndAreOneMeasurementWithTargetsOfItsOwn) {
  const std::vector<Measurement> measured = Measure(Space("[4]"));
  ASSERT_EQ(measured.size(), 1);
  EXPECT_EQ(measured[0].outcome, Outcome::kValid) << measured[0].reason;
  EXPECT_DOUBLE_EQ(std::get<double>(measured[0].properties.at("f_no_error")), 0.6);
  EXPECT_DOUBLE_EQ(std::get<double>(measured[0].properties.at("f_out_of_memory")), 0.2);
  EXPECT_EQ(measured[0].units.at("calm_runs_per_hour"), "runs/h");
  EXPECT_EQ(measured[0].provenance.at("run_end"), "done, done, out of memory, error, done");
  EXPECT_EQ(measured[0].provenance.at("run_reasons"), "made up; made up");
  ASSERT_EQ(plans_.size(), 5);
  EXPECT_EQ(plans_[0].dtype, "float16") << "the default that the experiment gives a shared property";
  EXPECT_EQ(plans_[0].max_steps, 3) << "the field that its own property becomes";
  Measure(Space("[4]"));
  EXPECT_EQ(plans_.size(), 5) << "replayed";
}

TEST_F(DeclaredExperimentTest, ItsRuleItsGateAndItsDomainForbidPoints) {
  EXPECT_THAT(Measure(Space("[2]")).at(0).reason, HasSubstr("batch_size is below patience"));
  EXPECT_TRUE(plans_.empty());
  last_loss_ = 3;
  const Measurement gated = Measure(Space("[4]")).at(0);
  EXPECT_EQ(gated.outcome, Outcome::kInvalid);
  EXPECT_EQ(gated.reason, "the loss does not fall");
  EXPECT_FALSE(experiment::CanonicalValue(Stability(), "torch_dtype", std::string("bfloat16")).ok());
}

TEST_F(DeclaredExperimentTest, ReportsShowItAsItDeclares) {
  const std::vector<Measurement> measured = Measure(Space("[4, 8]"));
  const std::string html = RenderHtmlReport(
      {.title = "stability", .space_description = "", .measurements = measured, .catalogue = catalogue_});
  EXPECT_THAT(html, HasSubstr("How runs end"));
  EXPECT_THAT(html, HasSubstr("Throughput by batch size"));
  EXPECT_THAT(html, Not(HasSubstr("Where the memory goes")));
  const std::string table = RenderResultsTable(measured, 2, catalogue_);
  EXPECT_THAT(table, HasSubstr("batch size"));
  EXPECT_THAT(table, HasSubstr("runs/h"));
}

}  // namespace
}  // namespace assay::report
