// Adagrad (Duchi et al. 2011, "Adaptive Subgradient Methods"), as torch.optim.Adagrad at its defaults.
#include <ATen/ATen.h>

#include "engine/optim/one_state.h"

namespace assay::engine {
namespace {

std::pair<at::Tensor, at::Tensor> adagrad_update(const Stretch& s, double learning_rate, double weight_decay,
                                                 const OptimizerOptions& /*options*/) {
  const at::Tensor gradient = s.gradient.add_(s.parameter, weight_decay);
  const at::Tensor sum = s.state.addcmul(gradient, gradient);
  return {s.parameter.addcdiv(gradient, sum.sqrt().add_(kAdagradEps), -learning_rate), sum};
}

}  // namespace

std::unique_ptr<Optimizer> make_adagrad(std::vector<std::pair<std::string, at::Tensor>> parameters,
                                        const OptimizerOptions& options) {
  return make_one_state({.update = &adagrad_update, .state_name = "sum"}, std::move(parameters), options);
}

}  // namespace assay::engine
