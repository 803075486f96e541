// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms"), with a momentum of 32 bits.
#include <ATen/ATen.h>

#include "engine/optim/one_state.h"

namespace assay::engine {
namespace {

std::pair<at::Tensor, at::Tensor> lion_update(const Stretch& s, double learning_rate, double weight_decay,
                                              const OptimizerOptions& options) {
  const at::Tensor direction = s.state.lerp(s.gradient, 1.0 - options.beta1).sign_();
  return {(s.parameter * (1.0 - learning_rate * weight_decay)).sub_(direction, learning_rate),
          s.state.lerp(s.gradient, 1.0 - options.beta2)};
}

}  // namespace

std::unique_ptr<Optimizer> make_lion(std::vector<std::pair<std::string, at::Tensor>> parameters,
                                     const OptimizerOptions& options) {
  return make_one_state({.update = &lion_update, .state_name = "exp_avg", .wide_state = true}, std::move(parameters),
                        options);
}

}  // namespace assay::engine
