#include "engine/train/loop.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/train/causal_lm_task.h"
#include "engine/train/failure.h"

namespace assay::engine {
namespace {

constexpr int32_t kMasked = data::kMaskedLabel;

/// A model with one weight w whose loss is w for every supervised token: the gradient of a window's mean loss is 1.
class OneWeight : public CausalLM {
 public:
  at::Tensor weight = at::full({1}, 5.0, at::kFloat).set_requires_grad(true);
  std::vector<int64_t> batch_tokens;  ///< of each batch seen
  std::vector<double> gradients;      ///< that backward was to bring, likewise
  double gradient_factor = 1;         ///< of the true gradient

  at::Tensor logits(const PackedBatch&) override { return weight; }
  at::Tensor next_logits(const PackedBatch&, DecodingCache*) override { return weight; }
  at::Tensor forward(const PackedBatch& batch, const at::Tensor&, double gradient) override {
    batch_tokens.push_back(batch.tokens());
    gradients.push_back(gradient);
    const at::Tensor used = weight * 1;
    used.register_hook([factor = gradient_factor](const at::Tensor& gradient_of_used) -> at::Tensor {
      return gradient_of_used * factor;
    });
    return (used * batch.supervised()).sum();
  }
  bool begins_model() const override { return true; }
  bool ends_model() const override { return true; }
  int64_t first_layer() const override { return 0; }
  at::ScalarType residual_dtype() const override { return at::kFloat; }
  std::vector<NamedTensor> parameters() const override { return {{"w.weight", weight}}; }
  at::Tensor& prompt_PH() override { return prompt_; }
  std::vector<Linear*> linears() override { return {}; }
  std::vector<Linear*> linears_and_head() override { return {}; }
  const ModelConfig& config() const override { return config_; }
  ActivationCost activation_cost(int64_t, int64_t) const override { return {}; }
  void set_checkpointed_layers(int64_t) override {}
  void set_training(bool) override {}
  void set_regularisation(const Regularisation&) override {}
  std::vector<ParameterUnit> units() override { return {{"w", {{"w.weight", &weight}}, {}}}; }
  void set_unit_hooks(UnitHooks*) override {}
  SplitRules split_rules() const override { return {}; }
  void set_split_hooks(SplitHooks*) override {}

 private:
  static ModelConfig make_config() {
    ModelConfig config;
    config.model_type = "one_weight";
    config.vocab_size = 10;
    config.max_positions = 100;
    return config;
  }
  at::Tensor prompt_;
  ModelConfig config_ = make_config();
};

class Recorder : public StepObserver {
 public:
  std::vector<job::Step> events;

  void measuring_begins() override {}
  void step_begins() override {}
  void step_computed() override {}
  void step_ended(const job::Step& step, const StepUse&) override { events.push_back(step); }
};

struct LoopSetting {
  TokenBatchOptions batches;
  LoopOptions loop = {};
};

class LoopTest : public ::testing::Test {
 protected:
  /// Of the next train().
  std::unique_ptr<DeviceClock> clock_;

  /// Trains `model` by SGD at rate 0.5 for `steps` steps and returns their events.
  std::vector<job::Step> train(const std::vector<data::TokenRow>& rows, const LoopSetting& setting, int64_t steps,
                               LossScaler* scaler = nullptr) {
    auto folder = TemporaryDirectory::Create("loop_test");
    EXPECT_TRUE(folder.ok());
    const std::string path = folder->path() + "/rows.tok";
    EXPECT_TRUE(data::WriteTokenFile(path, rows, 10).ok());
    const auto file = data::TokenFile::Open(path);
    EXPECT_TRUE(file.ok());

    TokenBatches batches(*file, setting.batches);
    Pipeline pipeline({});
    EventWriter events(-1);  // of evaluations, which there are none of
    CausalLmTask task({.model = model_,
                       .pipeline = pipeline,
                       .batches = batches,
                       .held_out = nullptr,
                       .eval_every = 0,
                       .world = nullptr,
                       .device = c10::kCPU,
                       .counts = true,
                       .events = events});
    const std::vector<at::Tensor> trainable = {model_.weight};
    const auto optimizer = make_optimizer("sgd", model_.parameters(), {});
    const auto updater = make_local_updater(*optimizer, trainable, scaler);
    const auto schedule = Schedule::create(schedule_, 0.5, 0, steps);
    StopRule stop({.last_step = steps, .last_step_is_max_steps = true});
    PhaseMeter meter(c10::kCPU, std::move(clock_));
    recorder_.events.clear();
    result_ = run_loop(setting.loop,
                       {.task = task,
                        .updater = *updater,
                        .schedule = *schedule,
                        .stop = stop,
                        .meter = meter,
                        .observer = recorder_,
                        .world = nullptr,
                        .device = c10::kCPU,
                        .before_update = [this] { before_updates_.push_back(model_.weight.detach().clone()); }});
    return recorder_.events;
  }

  float weight() const { return model_.weight.item<float>(); }

  OneWeight model_;
  const char* schedule_ = "constant";
  LoopResult result_;
  std::vector<at::Tensor> before_updates_;  ///< the weight whenever one was foretold
  Recorder recorder_;                       ///< of the last train(), also when it threw
};

const data::TokenRow kLong = {{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}};          // four supervised tokens
const data::TokenRow kShort = {{1, 2}, {1, 2}};                           // one
const data::TokenRow kSilent = {{1, 2, 3}, {kMasked, kMasked, kMasked}};  // none

TEST_F(LoopTest, SaysWhenWeightsAreAboutToChange) {
  train({kLong, kSilent, kShort}, {.batches = {.batch_size = 1}}, 3);
  // Nothing bears loss in the second step, which updates nothing.
  ASSERT_EQ(before_updates_.size(), 2U);
  EXPECT_NEAR(before_updates_[0].item<float>(), 5.0, 1e-5);
  EXPECT_NEAR(before_updates_[1].item<float>(), 4.5, 1e-5);
  EXPECT_NEAR(weight(), 4.0, 1e-5);
}

TEST_F(LoopTest, DividesByTheSupervisedTokensOfTheWholeWindow) {
  const auto events = train({kLong, kShort}, {.batches = {.batch_size = 1, .accumulation_steps = 2}}, 1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_DOUBLE_EQ(events[0].loss, 5.0);
  EXPECT_NEAR(events[0].grad_norm, 1.0, 1e-6);
  EXPECT_NEAR(weight(), 4.5, 1e-5);
  EXPECT_EQ(events[0].samples, 2);
  EXPECT_EQ(events[0].real_tokens, 7);
  EXPECT_EQ(events[0].supervised_tokens, 5);
  EXPECT_EQ(events[0].padded_tokens, 0) << "each micro-batch has one row";
  EXPECT_EQ(result_.stopped_by, "max_steps");
}

TEST_F(LoopTest, GradientsDoNotLeakIntoTheNextStep) {
  const auto events = train({kLong}, {.batches = {.batch_size = 1}}, 3);
  EXPECT_NEAR(events[2].grad_norm, 1.0, 1e-6);
  EXPECT_NEAR(weight(), 3.5, 1e-5);
}

TEST_F(LoopTest, ClipsToTheNorm) {
  const auto events = train({kLong}, {.batches = {.batch_size = 1}, .loop = {.max_grad_norm = 0.1}}, 1);
  EXPECT_NEAR(events[0].grad_norm, 1.0, 1e-6) << "the norm before clipping is reported";
  EXPECT_NEAR(weight(), 5.0 - 0.5 * 0.1, 1e-5);
}

TEST_F(LoopTest, AWindowWithoutSupervisionChangesNothing) {
  const auto events = train({kSilent, kLong}, {.batches = {.batch_size = 1}}, 2);
  EXPECT_EQ(events[0].loss, 0.0);
  EXPECT_EQ(events[0].grad_norm, 0.0);
  EXPECT_EQ(events[0].supervised_tokens, 0);
  EXPECT_DOUBLE_EQ(events[1].loss, 5.0) << "the weight has not moved";
}

TEST_F(LoopTest, ASilentMicroBatchDoesNotDisturbItsWindow) {
  const auto events = train({kSilent, kLong}, {.batches = {.batch_size = 1, .accumulation_steps = 2}}, 1);
  EXPECT_DOUBLE_EQ(events[0].loss, 5.0);
  EXPECT_EQ(events[0].forward_only, 1);
  EXPECT_NEAR(weight(), 4.5, 1e-5);
}

// The gradient of four supervised tokens is the scale: its square is beyond float32 from 2^64 on.
TEST_F(LoopTest, SkipsStepsThatOverflowAndUnscalesTheOthers) {
  schedule_ = "linear";
  LossScaler scaler({.initial = 0x1p65});
  const auto events = train({kLong}, {.batches = {.batch_size = 1}}, 4, &scaler);
  for (const size_t overflowed : {0, 1}) {
    EXPECT_TRUE(events[overflowed].skipped);
    EXPECT_EQ(events[overflowed].loss, 5.0);
    EXPECT_EQ(events[overflowed].learning_rate, 0.5) << "the schedule waits";
  }
  EXPECT_EQ(events[0].loss_scale, 0x1p65);
  EXPECT_EQ(events[1].loss_scale, 0x1p64);
  EXPECT_FALSE(events[2].skipped);
  EXPECT_EQ(events[2].loss_scale, 0x1p63);
  EXPECT_EQ(events[2].learning_rate, 0.5);
  EXPECT_NEAR(events[2].grad_norm, 1.0, 1e-6);
  EXPECT_LT(weight(), 5.0F);
}

TEST_F(LoopTest, AScaleThatCannotHelpStopsTheTraining) {
  LossScaler scaler({.initial = 0x1p-16});
  model_.gradient_factor = INFINITY;
  EXPECT_THROW(train({kLong}, {.batches = {.batch_size = 1}}, 12, &scaler), Diverged);
  ASSERT_EQ(recorder_.events.size(), 10u) << "the last step is told of too";
  EXPECT_TRUE(recorder_.events.back().skipped);
}

TEST_F(LoopTest, ALastStepThatWasSkippedEndsTheTrainingWell) {
  LossScaler scaler({.initial = 0x1p64});
  const auto events = train({kLong}, {.batches = {.batch_size = 1}}, 1, &scaler);
  EXPECT_TRUE(events[0].skipped);
  EXPECT_EQ(result_.stopped_by, "max_steps");
  EXPECT_EQ(weight(), 5.0F);
}

TEST_F(LoopTest, GradientsThatAreNotFiniteStopTheTrainingBeforeTheUpdate) {
  for (const double factor : {HUGE_VAL, std::nan(""), 1e30}) {
    model_.gradient_factor = factor;
    for (const int64_t steps : {1, 3}) {
      try {
        train({kLong}, {.batches = {.batch_size = 1}}, steps);
        FAIL() << "went on with a gradient of " << factor;
      } catch (const Diverged& error) {
        EXPECT_THAT(error.what(), ::testing::StartsWith("the gradient norm of step 1 is "));
      }
      ASSERT_EQ(recorder_.events.size(), 1u) << "the step is told of";
      EXPECT_EQ(recorder_.events[0].loss, 5.0);
      EXPECT_FALSE(std::isfinite(recorder_.events[0].grad_norm));
      EXPECT_FALSE(recorder_.events[0].skipped);
      EXPECT_EQ(weight(), 5.0F) << "of " << steps << " steps";
    }
  }
}

TEST_F(LoopTest, TheModelKnowsTheGradientThatBackwardBrings) {
  LossScaler scaler({.initial = 1024});
  train({kLong, kShort}, {.batches = {.batch_size = 1, .accumulation_steps = 2}}, 1, &scaler);
  EXPECT_THAT(model_.gradients, ::testing::ElementsAre(1024.0 / 5, 1024.0 / 5));
}

TEST_F(LoopTest, AScaleChangesNothingElse) {
  LossScaler scaler({.initial = 1024, .growth_interval = 1});
  const auto events = train({kLong}, {.batches = {.batch_size = 1}, .loop = {.max_grad_norm = 0.1}}, 2, &scaler);
  EXPECT_EQ(events[1].loss_scale, 2048);
  EXPECT_NEAR(events[1].grad_norm, 1.0, 1e-6) << "the norm is of the unscaled gradients";
  EXPECT_NEAR(weight(), 5.0 - 2 * 0.5 * 0.1, 1e-5);
}

TEST_F(LoopTest, ALossThatIsNoNumberStopsTheTrainingAndIsNamed) {
  LossScaler scaler({});
  model_.weight.detach().fill_(NAN);
  for (LossScaler* with : {&scaler, static_cast<LossScaler*>(nullptr)}) {
    try {
      train({kLong}, {.batches = {.batch_size = 1}}, 2, with);
      FAIL() << "a loss that is NaN went on";
    } catch (const Diverged& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith("the loss of step 1 is nan: training stopped"));
    }
  }
}

/// A device that tells when the host waits for it.
class WaitedForClock : public DeviceClock {
 public:
  explicit WaitedForClock(std::vector<std::string>& log) : log_(log) {}

  size_t mark() override { return marks_++; }
  std::vector<double> settle() override {
    log_.emplace_back("settle");
    return std::vector<double>(std::exchange(marks_, 0));
  }

 private:
  std::vector<std::string>& log_;
  size_t marks_ = 0;
};

TEST_F(LoopTest, TheHostReadsNothingOfAStepBeforeAllOfItIsLaunched) {
  static thread_local std::vector<std::string>* reads = nullptr;
  std::vector<std::string> log;
  reads = &log;
  const auto note_read = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    const std::string_view name = call.name();
    if (reads != nullptr && (name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::nonzero")) {
      reads->emplace_back("read");
    }
    return nullptr;
  };
  const at::CallbackHandle hook = at::addThreadLocalCallback(at::RecordFunctionCallback(note_read));
  LossScaler scaler({.initial = 1024});
  for (LossScaler* with : {static_cast<LossScaler*>(nullptr), &scaler}) {
    log.clear();
    clock_ = std::make_unique<WaitedForClock>(log);
    train({kLong, kShort}, {.batches = {.batch_size = 1, .accumulation_steps = 2}}, 1, with);
    ASSERT_THAT(log, ::testing::SizeIs(::testing::Gt(1u))) << "the hook notes what is read of the step's outcome";
    EXPECT_EQ(log.front(), "settle");
    EXPECT_EQ(std::ranges::count(log, "settle"), 1);
  }
  at::removeCallback(hook);
}

/// Samples of which one rank's come late, in one step.
class LateSamples : public ReadAhead {
 public:
  LateSamples(int64_t late_step, std::chrono::duration<double> delay) : late_step_(late_step), delay_(delay) {}

  bool is_ready(int64_t step) const override { return step != late_step_; }
  void await(int64_t step) override {
    if (!is_ready(step)) {
      std::this_thread::sleep_for(delay_);
      late_step_ = 0;
    }
  }

 private:
  int64_t late_step_;
  std::chrono::duration<double> delay_;
};

class StreamingTask : public Task {
 public:
  explicit StreamingTask(LateSamples& samples) : samples_(samples) {}

  ReadAhead* read_ahead() override { return &samples_; }
  TaskStep train(int64_t step, Updater&, PhaseMeter&, StepUse&, job::Step& event) override {
    EXPECT_TRUE(samples_.is_ready(step));
    event.samples = 1;
    return {.updates = false};
  }

 private:
  LateSamples& samples_;
};

TEST_F(LoopTest, ARankWhoseSamplesComeLateIsWaitedForBeyondADeadline) {
  constexpr double kDeadlineSeconds = 3;  // within which both come to each collective, on a busy machine too
  const auto group = make_thread_group(2, {.deadline_seconds = kDeadlineSeconds});
  testing::run_ranks(group, [&](Communicator& world) {
    LateSamples samples(world.rank() == 1 ? 2 : 0, std::chrono::duration<double>(1.5 * kDeadlineSeconds));
    StreamingTask task(samples);
    OneWeight model;
    const auto optimizer = make_optimizer("sgd", model.parameters(), {});
    const auto updater = make_local_updater(*optimizer, {model.weight}, nullptr);
    const auto schedule = Schedule::create("constant", 0.5, 0, 3);
    StopRule stop({.last_step = 3, .last_step_is_max_steps = true});
    PhaseMeter meter(c10::kCPU);
    Recorder recorder;
    const LoopOptions options;
    run_loop(options, {.task = task,
                       .updater = *updater,
                       .schedule = *schedule,
                       .stop = stop,
                       .meter = meter,
                       .observer = recorder,
                       .world = &world,
                       .device = c10::kCPU});
    ASSERT_EQ(recorder.events.size(), 3U);
    EXPECT_EQ(recorder.events[1].samples, 2) << "of both ranks";
  });
}

TEST_F(LoopTest, CutsRowsToTheMaximumLength) {
  train({kLong, kShort}, {.batches = {.batch_size = 2, .max_length = 3}}, 1);
  EXPECT_THAT(model_.batch_tokens, ::testing::ElementsAre(5));
}

}  // namespace
}  // namespace assay::engine
