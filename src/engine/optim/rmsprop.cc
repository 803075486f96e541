// RMSprop (Tieleman & Hinton 2012, lecture 6.5 of "Neural Networks for Machine Learning"), as torch.optim.RMSprop at
// its defaults: without momentum, not centred.
#include <ATen/ATen.h>

#include "engine/optim/one_state.h"

namespace assay::engine {
namespace {

std::pair<at::Tensor, at::Tensor> rmsprop_update(const Stretch& s, double learning_rate, double weight_decay,
                                                 const OptimizerOptions& /*options*/) {
  const at::Tensor gradient = s.gradient.add_(s.parameter, weight_decay);
  const at::Tensor mean = (s.state * kRmspropAlpha).addcmul_(gradient, gradient, 1.0 - kRmspropAlpha);
  return {s.parameter.addcdiv(gradient, mean.sqrt().add_(kRmspropEps), -learning_rate), mean};
}

}  // namespace

std::unique_ptr<Optimizer> make_rmsprop(std::vector<std::pair<std::string, at::Tensor>> parameters,
                                        const OptimizerOptions& options) {
  return make_one_state({.update = &rmsprop_update, .state_name = "square_avg"}, std::move(parameters), options);
}

}  // namespace assay::engine
