#include "experiment/vit_plugin/vit_plugin.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/files.h"
#include "experiment/testing.h"
#include "space/number.h"

namespace assay::experiment {
namespace {

using ::testing::HasSubstr;

constexpr char kVit[] = "vit_plugin_benchmark-v1.0.0";
constexpr char kTinyVit[] = R"({"model_type": "vit", "image_size": 32, "patch_size": 8, "hidden_size": 64,
  "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "id2label": {"0": "a", "1": "b"}})";

space::Entity VitPoint(const space::Entity& changes = {}) {
  space::Entity entity = {{"plugin", std::string("torch_ddp")},
                          {"batch_size", int64_t{8}},
                          {"model_name", std::string("google/vit-base-patch16-224")},
                          {"number_gpus", int64_t{0}}};
  for (const auto& [name, value] : changes) {
    entity[name] = value;
  }
  return BindPoint(**FindExperiment(kVit), entity, {}).value().complete;
}

TEST(VitPluginTest, APluginBringsItsOwnPrecisionKnobsAndLossScale) {
  const job::VitPlan zero = VitPlanOf(VitPoint({{"plugin", std::string("low_level_zero")}})).value();
  EXPECT_EQ(zero.precision, "fp16");
  EXPECT_EQ(zero.loss_scale, 32);
  EXPECT_EQ(zero.knobs.zero_stage, 1);
  const job::VitPlan changed = VitPlanOf(VitPoint({{"plugin", std::string("low_level_zero")},
                                                   {"zero_stage", int64_t{2}},
                                                   {"precision", std::string("bf16")},
                                                   {"memory_cap", std::string("2GiB")}}))
                                   .value();
  EXPECT_EQ(changed.knobs.zero_stage, 2);
  EXPECT_EQ(changed.precision, "bf16");
  EXPECT_EQ(changed.loss_scale, 1);
  EXPECT_EQ(changed.memory_budget_bytes, int64_t{2} << 30);
}

TEST(VitPluginTest, TheLearningRateGrowsWithTheDataRanks) {
  const job::VitPlan plan = VitPlanOf(VitPoint({{"number_ranks", int64_t{4}}})).value();
  EXPECT_DOUBLE_EQ(plan.learning_rate, 4 * 5e-5);
}

TEST(VitPluginTest, RulesNameWhatCannotBe) {
  EXPECT_TRUE(CheckVitPluginRules(VitPoint()).valid());
  EXPECT_THAT(CheckVitPluginRules(VitPoint({{"zero_stage", int64_t{2}}})).reason,
              HasSubstr("does not read zero_stage"));
  EXPECT_THAT(CheckVitPluginRules(VitPoint({{"plugin", std::string("hybrid_parallel")}})).reason,
              HasSubstr("tp_size 2 x pp_size 2"));
  EXPECT_THAT(CheckVitPluginRules(VitPoint({{"gradient_accumulation_steps", int64_t{3}}})).reason,
              HasSubstr("does not divide"));
  EXPECT_THAT(CheckVitPluginRules(VitPoint({{"number_gpus", int64_t{4}}, {"number_ranks", int64_t{2}}})).reason,
              HasSubstr("each GPU has one rank"));
}

TEST(VitPluginTest, EachGpuHasARank) {
  const job::VitPlan plan = VitPlanOf(VitPoint({{"number_gpus", int64_t{2}}})).value();
  EXPECT_EQ(plan.number_ranks, 2);
  EXPECT_EQ(plan.device, "cuda");
  EXPECT_TRUE(CheckVitPluginRules(VitPoint({{"number_gpus", int64_t{2}}})).valid());
}

TEST(VitPluginTest, TheReferenceIsOneRankWithTheImagesOfAll) {
  const auto folder = TemporaryDirectory::Create("vit").value();
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/config.json", kTinyVit).ok());
  const space::Entity point = VitPoint({{"plugin", std::string("hybrid_parallel")},
                                        {"model_name", folder.path()},
                                        {"number_ranks", int64_t{8}},
                                        {"threads", int64_t{1}},
                                        {"zero_stage", int64_t{1}}});
  const Result<RunPlan> plan =
      (*FindExperiment(kVit))->Plan(point, {.share_dir = folder.path(), .cache_dir = folder.path() + "/cache"});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto& reference = std::get<job::VitPlan>(plan->reference->work);
  EXPECT_EQ(reference.number_ranks, 1);
  EXPECT_EQ(reference.batch_size, 2 * 8);
  EXPECT_EQ(reference.batch_size / job::MicroBatches(reference), 8);
  EXPECT_EQ(reference.threads, 8);
  EXPECT_EQ(reference.plugin, "torch_ddp");
  EXPECT_TRUE(job::CheckVitPlan(reference).ok()) << job::CheckVitPlan(reference).message();
}

TEST(VitPluginTest, PluginsAndKnobsAreDescribed) {
  const auto& properties = (*FindExperiment(kVit))->properties();
  EXPECT_EQ(properties.front().notes.size(), job::Plugins().size());
  EXPECT_THAT(properties.front().notes[4], HasSubstr("tensor, pipeline and data ranks (fp16; knobs: zero_stage"));
  job::PluginKnobs knobs;
  job::VisitKnobs(knobs, [](const char* name, auto&) {
    EXPECT_NE(job::DescribeKnob(name), "") << name;
    EXPECT_NE(FindProperty(**FindExperiment(kVit), name), nullptr) << name;
  });
}

TEST(PublishedVitTest, FixedCostsFollowFromTheRows) {
  const PublishedFixedCosts costs = *(*FindExperiment(kVit))->declaration().report.fixed_costs;
  EXPECT_NEAR(costs.fixed_seconds.at("low_level_zero"), 0.115, 0.0005);
  EXPECT_NEAR(costs.fixed_seconds.at("gemini"), 0.211, 0.0005);
  EXPECT_NEAR(costs.baseline_step_seconds, 0.335, 0.0005);
}

class VitMeasureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::make_unique<TemporaryDirectory>(TemporaryDirectory::Create("vit").value());
    ASSERT_TRUE(WriteFileAtomically(directory_->path() + "/config.json", kTinyVit).ok());
    job::VitPlan vit = VitPlanOf(point_).value();
    vit.model_dir = directory_->path();
    vit.number_ranks = 2;
    plan_.work = vit;
    plan_.reference_steps = {{2.0, 3.0}, {1.9, 3.0}};
  }

  /// Two warm-up steps, then `seconds`.
  job::RunRecord Record(const std::vector<double>& seconds) const {
    job::RunRecord record;
    record.events.emplace_back(job::Loaded{.seconds = 0.5, .parameters = 1000, .layers = 2, .checkpointed_layers = 1});
    std::vector<double> all = {3, 1};
    all.insert(all.end(), seconds.begin(), seconds.end());
    for (size_t i = 0; i < all.size(); ++i) {
      const auto step = static_cast<int64_t>(i + 1);
      record.events.emplace_back(job::Step{
          .step = step, .loss = 2 - 0.1 * static_cast<double>(i), .grad_norm = 3, .seconds = all[i], .samples = 16});
      record.events.emplace_back(job::RankStep{.rank = 0,
                                               .step = step,
                                               .seconds = all[i],
                                               .forward_seconds = 0.25 * all[i],
                                               .communication_seconds = 0.2,
                                               .exposed_communication_seconds = 0.06,
                                               .hidden_communication_seconds = 0.15});
    }
    record.events.emplace_back(
        job::MemoryLedger{.rank = 0, .phase = "steady", .source = "measured", .moments_bytes = 60, .peak_bytes = 100});
    record.events.emplace_back(
        job::MemoryLedger{.rank = 1, .phase = "steady", .source = "measured", .peak_bytes = 120});
    record.events.emplace_back(job::MemoryLedger{.phase = "init", .source = "measured", .peak_bytes = 400});
    record.events.emplace_back(job::MemoryLedger{.phase = "steady", .source = "predicted", .peak_bytes = 110});
    record.events.emplace_back(job::CollectiveTotals{
        .operation = "all_reduce", .group_size = 2, .payload_bytes = 4'000'000'000, .seconds = 2});
    record.events.emplace_back(job::Ended{.train_runtime = 5, .warmup_steps = 2, .peak_tensor_bytes = 400});
    record.end = job::RunEnd::kDone;
    return record;
  }

  double Value(const Measured& measured, const std::string& name) const {
    return space::NumberOf(measured.properties.at(name)).value();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  space::Entity point_ = VitPoint({{"number_ranks", int64_t{2}}});
  RunPlan plan_;
};

TEST_F(VitMeasureTest, LeavesWarmUpOutAndCountsAllDataRanks) {
  const Result<Measured> measured = MeasureVitPlugin(point_, plan_, Record({0.5, 0.5, 0.5, 0.5}));
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_DOUBLE_EQ(Value(*measured, "images_per_second"), 2 * 8 * 4 / 2.0);
  EXPECT_DOUBLE_EQ(Value(*measured, "throughput"), 32);
  EXPECT_DOUBLE_EQ(Value(*measured, "time_for_steps"), 2);
  EXPECT_DOUBLE_EQ(Value(*measured, "first_step_seconds"), 3);
  EXPECT_DOUBLE_EQ(Value(*measured, "forward_seconds"), 0.125);
  EXPECT_NEAR(Value(*measured, "overlap_percent"), 75, 1e-9);
  EXPECT_EQ(measured->units.at("images_per_second"), "images/s");
}

TEST_F(VitMeasureTest, KeepsThePeaksOfInitialisationAndTrainingApart) {
  const Measured measured = MeasureVitPlugin(point_, plan_, Record({1, 1})).value();
  EXPECT_EQ(Value(measured, "peak_tensor_bytes"), 120);
  EXPECT_EQ(Value(measured, "init_peak_tensor_bytes"), 400);
  EXPECT_EQ(Value(measured, "maximum_memory_usage"), 400);
  EXPECT_EQ(Value(measured, "predicted_peak_bytes"), 110);
  EXPECT_EQ(Value(measured, "ledger_moments_bytes"), 60);
}

TEST_F(VitMeasureTest, EnergyCountsFromWhenTheWorkerWasLoadedOnTheSamplersClock) {
  job::RunRecord record = Record({1, 1});
  record.event_seconds.assign(record.events.size(), 12.0);
  record.event_seconds.front() = 8;  // of which the worker itself counts half a second
  record.samples = {{"time_s", {0, 4, 8, 12}},
                    {"gpu0.utilization_percent", {0, 0, 0, 0}},
                    {"gpu0.memory_used_bytes", {0, 0, 0, 0}},
                    {"gpu0.memory_total_bytes", {1, 1, 1, 1}},
                    {"gpu0.power_watts", {100, 100, 25, 25}},
                    {"gpu0.power_percent", {0, 0, 0, 0}},
                    {"gpu0.energy_joules", {0, 400, 800, 900}}};
  point_["number_gpus"] = int64_t{1};
  EXPECT_DOUBLE_EQ(Value(MeasureVitPlugin(point_, plan_, record).value(), "gpu_energy_joules"), 100);
}

TEST_F(VitMeasureTest, UtilisationIsHeldAgainstTheCeilingAndHardwareCountsWhatRunsTwice) {
  EXPECT_FALSE(MeasureVitPlugin(point_, plan_, Record({1, 1})).value().properties.contains("ceiling_tflops"));
  plan_.ceiling_tflops = 0.5;
  const Measured measured = MeasureVitPlugin(point_, plan_, Record({1, 1})).value();
  const double model = Value(measured, "model_tflops");
  EXPECT_GT(model, 0);
  EXPECT_DOUBLE_EQ(Value(measured, "model_flops_utilization"), 100 * model / 0.5);
  // One of two layers is checkpointed: 3.5 forward passes instead of 3.
  EXPECT_DOUBLE_EQ(Value(measured, "hardware_flops_utilization"), 100 * model * 3.5 / 3 / 0.5);
  EXPECT_EQ(measured.units.at("model_flops_utilization"), "%");
}

TEST_F(VitMeasureTest, BusBandwidthIsWhatALinkCarries) {
  const Measured measured = MeasureVitPlugin(point_, plan_, Record({1, 1})).value();
  EXPECT_DOUBLE_EQ(Value(measured, "all_reduce_bus_gb_per_s"), 4e9 * 2 * 0.5 / 2 / 1e9);
  EXPECT_DOUBLE_EQ(Value(measured, "communication_bytes_per_step"), 2e9);
}

TEST_F(VitMeasureTest, LossesThatDoNotFollowTheReferenceMakeThePointInvalid) {
  plan_.reference_steps = {{2.0, 3.0}, {1.8, 3.0}};
  const Result<Measured> measured = MeasureVitPlugin(point_, plan_, Record({1, 1}));
  ASSERT_FALSE(measured.ok());
  EXPECT_EQ(measured.status().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(measured.status().message(), HasSubstr("does not train the same model"));
}

TEST_F(VitMeasureTest, GradientsThatDoNotFollowTheReferenceMakeThePointInvalid) {
  const std::vector<std::pair<std::string, double>> factors = {{"fp32", 1.0001},   {"bf16", 1.07},     {"fp16", 1.03},
                                                               {"amp_bf16", 1.07}, {"amp_fp16", 1.03}, {"fp8", 1.3}};
  for (const auto& [precision, factor] : factors) {
    std::get<job::VitPlan>(plan_.work).precision = precision;
    plan_.reference_steps = {{2.0, 3.0}, {1.9, 3.0}};
    EXPECT_TRUE(MeasureVitPlugin(point_, plan_, Record({1, 1})).ok()) << precision;
    plan_.reference_steps[1].grad_norm = 3.0 / factor;
    const Status status = MeasureVitPlugin(point_, plan_, Record({1, 1})).status();
    EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition) << precision;
    EXPECT_THAT(status.message(), HasSubstr("the gradient norms of the first 2 steps differ"));
  }
  auto& plan = std::get<job::VitPlan>(plan_.work);
  plan.precision = "fp32";
  plan_.reference_steps[1].grad_norm = 3.0 / 1.01;
  EXPECT_FALSE(MeasureVitPlugin(point_, plan_, Record({1, 1})).ok());
  plan.knobs.communication_dtype = "float16";
  EXPECT_TRUE(MeasureVitPlugin(point_, plan_, Record({1, 1})).ok());
}

TEST_F(VitMeasureTest, NothingIsHeldAgainstTheReferenceWhenTheFirstStepWasSkipped) {
  job::RunRecord record = Record({1, 1});
  for (job::Event& event : record.events) {
    if (auto* step = std::get_if<job::Step>(&event); step != nullptr) {
      step->skipped = step->step == 1;
      step->grad_norm *= 10;
    }
  }
  const Status status = MeasureVitPlugin(point_, plan_, record).status();
  EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("skipped the first step"));
  plan_.reference_steps.clear();
  EXPECT_TRUE(MeasureVitPlugin(point_, plan_, record).ok()) << "no gate was asked for";
}

TEST_F(VitMeasureTest, StepsAreHeldAgainstTheReferenceUpToOneThatWasSkipped) {
  plan_.reference_steps = {{2.0, 3.0}, {1.9, 3.0}, {5.0, 9.0}};
  job::RunRecord record = Record({1, 1});
  for (job::Event& event : record.events) {
    if (auto* step = std::get_if<job::Step>(&event); step != nullptr && step->step == 2) {
      step->skipped = true;
      step->grad_norm = std::nan("");
    }
  }
  const Measured measured = MeasureVitPlugin(point_, plan_, record).value();
  EXPECT_EQ(Value(measured, "gated_steps"), 1);
  EXPECT_NEAR(Value(measured, "gate_relative_difference"), 0, 1e-12);
  plan_.reference_steps[1].loss = 1.8;
  EXPECT_FALSE(MeasureVitPlugin(point_, plan_, record).ok()) << "the loss of a step that was skipped is one";
}

TEST_F(VitMeasureTest, ARunWithoutMeasuredStepsIsAnErrorAndADivergedOneInvalid) {
  EXPECT_THAT(MeasureVitPlugin(point_, plan_, Record({})).status().message(), HasSubstr("no measured step"));
  job::RunRecord record = Record({1, 1});
  record.events.emplace_back(job::Step{.step = 9, .loss = std::nan("")});
  const Status diverged = MeasureVitPlugin(point_, plan_, record).status();
  EXPECT_EQ(diverged.code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(diverged.message(), HasSubstr("diverged"));
}

TEST_F(VitMeasureTest, AValueThatIsNotFiniteIsNoMeasurement) {
  job::RunRecord record = Record({1, 1});
  record.overhead_seconds = std::nan("");
  EXPECT_THAT(MeasureVitPlugin(point_, plan_, record).status().message(), HasSubstr("overhead_seconds is nan"));
}

}  // namespace
}  // namespace assay::experiment
