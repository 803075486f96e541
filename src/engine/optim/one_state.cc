#include "engine/optim/one_state.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "engine/kernels/update_stretches.h"

namespace assay::engine {
namespace {

/// Elements of a stretch. On the CPU its tensors lie in a core's cache together, and shapes foretell what all threads
/// hold at once; elsewhere it is worth its launches.
int64_t stretch_of(c10::Device device) {
  constexpr int64_t kOfThread = int64_t{1} << 15;
  if (device.is_meta()) {
    return kOfThread * at::get_num_threads();
  }
  return device.is_cpu() ? kOfThread : int64_t{1} << 24;
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
    const at::Tensor factor = scale.factor.to(at::kFloat);
    std::vector<Flat> flats;
    for (Slot& slot : slots_) {
      slot.in_last_step = slot.parameter.grad().defined();
      if (slot.in_last_step) {
        flats.push_back(flat(slot));
        ++slot.steps;
      }
    }
    for_each_stretch(flats, [&](const Flat& stretch) { update(stretch, learning_rate, factor, scale.skip); });
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

  /// What a slot's update reads and writes, in one dimension.
  struct Flat {
    double decay;
    at::Tensor updated;
    at::Tensor gradient;
    at::Tensor state;
    at::Tensor parameter;  ///< that follows its master; undefined: it is its own

    Flat narrow(int64_t begin, int64_t end) const {
      const auto part = [&](const at::Tensor& whole) {
        return whole.defined() ? whole.narrow(0, begin, end - begin) : whole;
      };
      return {decay, part(updated), part(gradient), part(state), part(parameter)};
    }
  };

  Flat flat(const Slot& slot) const {
    return {.decay = applies_weight_decay(slot.name) ? options_.weight_decay : 0.0,
            .updated = slot.updated.view({-1}),
            .gradient = slot.parameter.grad().reshape({-1}),
            .state = slot.state.view({-1}),
            .parameter = slot.has_master() ? slot.parameter.detach().view({-1}) : at::Tensor()};
  }

  /// On the CPU a thread takes a stretch, since an operation on one is too short to be shared.
  template <typename Body>
  static void for_each_stretch(const std::vector<Flat>& flats, const Body& body) {
    if (flats.empty()) {
      return;
    }
    const c10::Device device = flats.front().updated.device();
    std::vector<int64_t> sizes;
    for (const Flat& flat : flats) {
      sizes.push_back(flat.updated.numel());
    }
    const std::vector<UpdateStretch> stretches = cut(sizes, stretch_of(device));
    const auto take = [&](int64_t, const UpdateStretch& s) {
      const at::NoGradGuard no_grad;  // of the thread
      body(flats[s.tensor].narrow(s.begin, s.end));
    };
    if (device.is_cpu()) {
      for_stretches(stretches, take);
    } else {
      std::ranges::for_each(stretches, [&](const UpdateStretch& s) { take(0, s); });
    }
  }

  void update(const Flat& flat, double learning_rate, const at::Tensor& factor, const at::Tensor& skip) const {
    const Stretch stretch{.parameter = flat.updated.to(at::kFloat),
                          .gradient = flat.gradient.to(at::kFloat) * factor,
                          .state = flat.state.to(at::kFloat)};
    const auto [new_parameter, new_state] = rule_.update(stretch, learning_rate, flat.decay, options_);
    assign(flat.updated, new_parameter, skip);
    assign(flat.state, new_state, skip);
    if (flat.parameter.defined()) {
      flat.parameter.copy_(flat.updated);
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
