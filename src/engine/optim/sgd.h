// Stochastic gradient descent without momentum, as torch.optim.SGD at its defaults.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/kernels/optimizer_step.h"
#include "engine/optim/optimizer.h"

namespace assay::engine {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options);
  void step(double learning_rate, const GradientRule& rule) override;
  void forget_last_step() override {}  // it keeps no count
  int64_t untouched_bytes() const override { return 0; }
  std::vector<ParameterState> states() override;
  void publish_masters() override {}  // it keeps none

 private:
  OptimizerOptions options_;
  std::vector<std::string> names_;
  std::vector<AdamwTensors> slots_;  ///< the moments stay undefined
};

}  // namespace assay::engine
