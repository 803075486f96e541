// Stochastic gradient descent without momentum, as torch.optim.SGD at its defaults.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/optim/optimizer.h"

namespace assay::engine {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options);
  void step(double learning_rate, double gradient_scale) override;

 private:
  OptimizerOptions options_;
  std::vector<at::Tensor> decayed_;
  std::vector<at::Tensor> plain_;
};

}  // namespace assay::engine
