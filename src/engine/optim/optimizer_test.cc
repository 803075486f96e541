#include "engine/optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <stdexcept>

#include "engine/optim/one_state.h"

namespace assay::engine {
namespace {

at::Tensor parameter_with_gradient(double value, double gradient) {
  at::Tensor parameter = at::full({4}, value, at::kFloat).set_requires_grad(true);
  parameter.mutable_grad() = at::full({4}, gradient, at::kFloat);
  return parameter;
}

TEST(WeightDecay, SkipsBiasesAndNorms) {
  for (const char* name : {"model.layers.0.self_attn.q_proj.bias", "model.norm.weight", "norm.weight",
                           "model.layers.0.input_layernorm.weight", "h.0.attn.q_norm.weight", "a.RMSNorm.weight",
                           "transformer.h.0.ln_1.weight", "transformer.ln_f.weight"}) {
    EXPECT_FALSE(applies_weight_decay(name)) << name;
  }
  for (const char* name : {"model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight", "lm_head.weight",
                           "model.normal.weight", "a.q_proj.lora_A.default.weight"}) {
    EXPECT_TRUE(applies_weight_decay(name)) << name;
  }
}

TEST(OptimizerTable, TellsUnsupportedFromUnknown) {
  EXPECT_TRUE(check_optimizer_name("adamw_torch_fused").ok());
  const Status later = check_optimizer_name("lion_8bit");
  EXPECT_EQ(later.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(later.message(),
            "optimizer 'lion_8bit' is not supported yet (choose one of adamw_torch, adamw_torch_fused, sgd, "
            "adagrad, rmsprop, lion_32bit)");
  const Status typo = check_optimizer_name("adamw_toch");
  EXPECT_EQ(typo.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(typo.message(), testing::HasSubstr("did you mean 'adamw_torch'"));
  EXPECT_THROW(make_optimizer("lion_8bit", {}, {}), std::invalid_argument);
}

// Two updates by hand: m = 0.1 g, 0.19 g; with a constant gradient both bias-corrected moments are g and g^2, so each
// update moves by the learning rate.
TEST(Adamw, MovesByTheLearningRateUnderAConstantGradient) {
  at::Tensor parameter = parameter_with_gradient(1.0, 0.5);
  auto optimizer = make_optimizer("adamw_torch", {{"w.weight", parameter}}, {});
  optimizer->step(0.1, {});
  EXPECT_NEAR(parameter[0].item<double>(), 0.9, 1e-6);
  optimizer->step(0.1, {});
  EXPECT_NEAR(parameter[0].item<double>(), 0.8, 1e-6);
}

TEST(Adamw, TellsWhatStatesNoStepHasWritten) {
  at::Tensor parameter = parameter_with_gradient(1.0, 0.5);
  auto optimizer = make_optimizer("adamw_torch", {{"w.weight", parameter}}, {});
  EXPECT_EQ(optimizer->untouched_bytes(), 2 * 4 * static_cast<int64_t>(sizeof(float)));
  optimizer->step(0.1, {});
  EXPECT_EQ(optimizer->untouched_bytes(), 0);
}

TEST(Adamw, DecaysOnlyWhatDecays) {
  at::Tensor weight = parameter_with_gradient(1.0, 0.0);
  at::Tensor bias = parameter_with_gradient(1.0, 0.0);
  auto optimizer = make_optimizer("adamw_torch", {{"w.weight", weight}, {"w.bias", bias}}, {.weight_decay = 0.5});
  optimizer->step(0.1, {});
  EXPECT_NEAR(weight[0].item<double>(), 0.95, 1e-6);
  EXPECT_EQ(bias[0].item<double>(), 1.0);
}

TEST(Adamw, LeavesParametersWithoutGradientAlone) {
  at::Tensor moving = parameter_with_gradient(1.0, 1.0);
  at::Tensor resting = at::ones({4}, at::kFloat).set_requires_grad(true);
  auto optimizer = make_optimizer("adamw_torch", {{"a", moving}, {"b", resting}}, {.weight_decay = 0.5});
  optimizer->step(0.1, {});
  EXPECT_EQ(resting[0].item<double>(), 1.0);
  resting.mutable_grad() = at::ones({4});
  optimizer->step(0.1, {});  // the first update of this parameter: bias correction starts at its own step 1
  EXPECT_NEAR(resting[0].item<double>(), 1.0 * (1 - 0.05) - 0.1, 1e-6);
}

TEST(Adamw, AStepThatIsForgottenDoesNotCount) {
  at::Tensor parameter = parameter_with_gradient(1.0, INFINITY);
  auto optimizer = make_optimizer("adamw_torch", {{"w.weight", parameter}}, {});
  optimizer->step(0.1, {.skip_non_finite = true, .stats = gradient_stats({parameter.grad()})});
  optimizer->forget_last_step();
  EXPECT_EQ(parameter[0].item<double>(), 1.0);
  parameter.mutable_grad() = at::full({4}, 0.5);
  optimizer->step(0.1, {});
  EXPECT_NEAR(parameter[0].item<double>(), 0.9, 1e-6);
}

// An update of 1e-5 is too small for a float16 of size 1 (units of 2^-10), and gradients of 1e-5 have squares that
// float16 does not have: only with a float32 master and float32 states do 100 such updates arrive.
TEST(Adamw, KeepsFloat32MastersOfFloat16Parameters) {
  at::Tensor parameter = at::ones({4}, at::kHalf).set_requires_grad(true);
  auto optimizer = make_optimizer("adamw_torch", {{"w.weight", parameter}}, {.eps = 0.0});
  for (int step = 0; step < 100; ++step) {
    parameter.mutable_grad() = at::full({4}, 1e-5, at::kHalf);
    optimizer->step(1e-5, {});
  }
  EXPECT_NEAR(parameter[0].item<double>(), 1.0 - 100 * 1e-5, 0x1p-11);
}

const char* const kOneState[] = {"adagrad", "rmsprop", "lion_32bit"};

TEST(OneState, AnOverflowChangesNothing) {
  for (const char* name : kOneState) {
    at::Tensor parameter = parameter_with_gradient(1.0, INFINITY);
    auto optimizer = make_optimizer(name, {{"w.weight", parameter}}, {.weight_decay = 0.5});
    optimizer->step(0.1, {.skip_non_finite = true, .stats = gradient_stats({parameter.grad()})});
    EXPECT_TRUE(parameter.equal(at::ones({4}))) << name;
    for (const ParameterState& state : optimizer->states()) {
      ASSERT_EQ(state.moments.size(), 1) << name;
      EXPECT_FALSE(state.moments.front().values.any().item<bool>()) << name;
    }
  }
}

// In the second step, since the first one of both goes as far whatever the gradient.
TEST(OneState, ShortensGradientsToTheNorm) {
  for (const char* name : {"adagrad", "rmsprop"}) {
    std::vector<at::Tensor> results;
    for (const double gradient : {8.0, 0.5}) {  // the first of norm 16
      at::Tensor parameter = parameter_with_gradient(1.0, 0.25);
      auto optimizer = make_optimizer(name, {{"w.weight", parameter}}, {});
      optimizer->step(0.01, {});
      parameter.mutable_grad() = at::full({4}, gradient);
      optimizer->step(0.01, {.max_norm = 1.0, .stats = gradient_stats({parameter.grad()})});
      results.push_back(parameter.detach());
    }
    EXPECT_TRUE(at::allclose(results[0], results[1])) << name;
  }
}

TEST(OneState, LeavesParametersWithoutGradientAlone) {
  for (const char* name : kOneState) {
    at::Tensor resting = at::ones({4}, at::kFloat).set_requires_grad(true);
    make_optimizer(name, {{"w.weight", resting}}, {.weight_decay = 0.5})->step(0.1, {});
    EXPECT_TRUE(resting.equal(at::ones({4}))) << name;
  }
}

// Stretches, rounding and masters are none of the reference's: a large parameter is many small ones.
TEST(OneState, StretchesOfAParameterAreUpdatedAlike) {
  constexpr int64_t kElements = 200'001;
  for (const char* name : kOneState) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      at::Tensor large = at::full({kElements}, 0.5, dtype).set_requires_grad(true);
      at::Tensor small = at::full({1}, 0.5, dtype).set_requires_grad(true);
      auto of_large = make_optimizer(name, {{"w.weight", large}}, {.weight_decay = 0.1});
      auto of_small = make_optimizer(name, {{"w.weight", small}}, {.weight_decay = 0.1});
      for (int step = 0; step < 3; ++step) {
        large.mutable_grad() = at::full({kElements}, 0.3 - 0.2 * step, dtype);
        small.mutable_grad() = at::full({1}, 0.3 - 0.2 * step, dtype);
        of_large->step(0.01, {});
        of_small->step(0.01, {});
      }
      EXPECT_TRUE((large == small).all().item<bool>()) << name << " " << dtype;
      EXPECT_NE(small.item<double>(), 0.5);
    }
  }
}

/// Sets libtorch's threads for a while.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

TEST(OneState, StretchesAreSharedAmongAllThreads) {
  static std::array<std::atomic<int>, 4> taken;
  const OneStateRule rule{.update =
                              [](const Stretch& s, double, double, const OptimizerOptions&) {
                                taken.at(static_cast<size_t>(at::get_thread_num())) += 1;
                                return std::pair(s.parameter - s.gradient, s.state + 1);
                              },
                          .state_name = "count"};
  const Threads threads(4);
  std::vector<std::pair<std::string, at::Tensor>> parameters;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    parameters.emplace_back(name, parameter_with_gradient(1.0, 0.5));
  }
  const at::Tensor large = at::ones({200'000}).set_requires_grad(true);
  large.mutable_grad() = at::full({200'000}, 0.5);
  parameters.emplace_back("large", large);
  make_one_state(rule, parameters, {})->step(0.1, {});
  EXPECT_THAT(taken, testing::Each(testing::Ge(1)));
  for (const auto& [name, parameter] : parameters) {
    EXPECT_TRUE(parameter.detach().eq(0.5).all().item<bool>()) << name;
  }
}

TEST(OneState, ThreadsChangeNoBit) {
  for (const char* name : kOneState) {
    std::vector<at::Tensor> updated;
    for (const int count : {1, 4}) {
      const Threads threads(count);
      const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
      const at::Tensor parameter = at::randn({100'003}, generator).set_requires_grad(true);
      parameter.mutable_grad() = at::randn({100'003}, generator);
      make_optimizer(name, {{"w", parameter}}, {})->step(0.1, {});
      updated.push_back(parameter.detach());
    }
    EXPECT_TRUE(updated.front().equal(updated.back())) << name;
  }
}

TEST(OneState, KeepsFloat32MastersOfFloat16Parameters) {
  for (const char* name : kOneState) {
    at::Tensor parameter = at::ones({4}, at::kHalf).set_requires_grad(true);
    auto optimizer = make_optimizer(name, {{"w.weight", parameter}}, {});
    EXPECT_EQ(optimizer->states().front().weight.scalar_type(), at::kFloat) << name;
    for (int step = 0; step < 100; ++step) {
      parameter.mutable_grad() = at::full({4}, 1e-3, at::kHalf);
      optimizer->step(1e-4, {});
    }
    EXPECT_LT(parameter[0].item<double>(), 1.0) << name << ": an update is less than float16 tells from nothing";
  }
}

TEST(Sgd, FollowsTheScaledGradient) {
  at::Tensor weight = parameter_with_gradient(1.0, 2.0);
  at::Tensor bias = parameter_with_gradient(1.0, 2.0);
  auto optimizer = make_optimizer("sgd", {{"w.weight", weight}, {"w.bias", bias}}, {.weight_decay = 0.5});
  optimizer->step(0.1, {.scale = 0.25});
  EXPECT_NEAR(weight[0].item<double>(), 1.0 - 0.1 * (0.5 + 0.5), 1e-6);
  EXPECT_NEAR(bias[0].item<double>(), 1.0 - 0.1 * 0.5, 1e-6);
}

}  // namespace
}  // namespace assay::engine
