#include "engine/optim/one_state.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace assay::engine {
namespace {

/// Elements of a stretch: its tensors lie in a core's cache together, and elsewhere it is worth its launches.
int64_t stretch_of(const at::Tensor& parameter) {
  return int64_t{1} << (parameter.is_cuda() ? 24 : 16);
}

void assign(const at::Tensor& target, const at::Tensor& value, const at::Tensor& skip) {
  target.copy_(skip.defined() ? at::where(skip, target, value.to(target.scalar_type())) : value);
}

class OneState : public Optimizer {
 public:
  OneState(const OneStateRule& rule, std::vector<std::pair<std::string, at::Tensor>> parameters,
           const OptimizerOptions& options)
      : rule_(rule), options_(options) {
    for (auto& [name, tensor] : parameters) {
      const at::Tensor parameter = tensor.detach();
      const bool has_master = parameter.scalar_type() == at::kHalf;
      const at::Tensor updated = has_master ? parameter.to(at::kFloat) : parameter;
      const auto state_dtype = rule.wide_state ? at::kFloat : updated.scalar_type();
      slots_.push_back({.name = std::move(name),
                        .parameter = std::move(tensor),
                        .updated = updated,
                        .state = at::zeros_like(updated, updated.options().dtype(state_dtype))});
    }
  }

  void step(double learning_rate, const GradientRule& rule) override {
    const at::NoGradGuard no_grad;
    const RuleTensors scale = rule_tensors(rule);
    for (Slot& slot : slots_) {
      slot.in_last_step = slot.parameter.grad().defined();
      if (slot.in_last_step) {
        update(slot, learning_rate, scale);
        ++slot.steps;
      }
    }
  }

  void forget_last_step() override {
    for (Slot& slot : slots_) {
      slot.steps -= slot.in_last_step ? 1 : 0;
      slot.in_last_step = false;
    }
  }
  int64_t untouched_bytes() const override { return 0; }

  std::vector<ParameterState> states() override {
    std::vector<ParameterState> states;
    for (Slot& slot : slots_) {
      states.push_back({.name = slot.name,
                        .weight = slot.updated,
                        .moments = {{rule_.state_name, slot.state}},
                        .steps = &slot.steps});
    }
    return states;
  }

  void publish_masters() override {
    const at::NoGradGuard no_grad;
    for (const Slot& slot : slots_) {
      if (slot.has_master()) {
        slot.parameter.detach().copy_(slot.updated);
      }
    }
  }

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;  ///< with its gradient
    at::Tensor updated;    ///< the float32 master where there is one, else the parameter itself
    at::Tensor state;
    int64_t steps = 0;  ///< for checkpoints, which have no state of a parameter that was never updated
    bool in_last_step = false;

    bool has_master() const { return updated.scalar_type() != parameter.scalar_type(); }
  };

  void update(const Slot& slot, double learning_rate, const RuleTensors& scale) const {
    const double decay = applies_weight_decay(slot.name) ? options_.weight_decay : 0.0;
    const at::Tensor parameter = slot.updated.view({-1});
    const at::Tensor gradient = slot.parameter.grad().reshape({-1});
    const at::Tensor state = slot.state.view({-1});
    const at::Tensor factor = scale.factor.to(at::kFloat);
    const int64_t stretch_size = stretch_of(parameter);
    for (int64_t begin = 0; begin < parameter.numel(); begin += stretch_size) {
      const int64_t size = std::min(stretch_size, parameter.numel() - begin);
      const at::Tensor old_parameter = parameter.narrow(0, begin, size);
      const at::Tensor old_state = state.narrow(0, begin, size);
      const Stretch stretch{.parameter = old_parameter.to(at::kFloat),
                            .gradient = gradient.narrow(0, begin, size).to(at::kFloat) * factor,
                            .state = old_state.to(at::kFloat)};
      const auto [new_parameter, new_state] = rule_.update(stretch, learning_rate, decay, options_);
      assign(old_parameter, new_parameter, scale.skip);
      assign(old_state, new_state, scale.skip);
      if (slot.has_master()) {
        slot.parameter.detach().view({-1}).narrow(0, begin, size).copy_(old_parameter);
      }
    }
  }

  OneStateRule rule_;
  OptimizerOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<Optimizer> make_one_state(const OneStateRule& rule,
                                          std::vector<std::pair<std::string, at::Tensor>> parameters,
                                          const OptimizerOptions& options) {
  return std::make_unique<OneState>(rule, std::move(parameters), options);
}

}  // namespace assay::engine
