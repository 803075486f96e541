// AdamW (Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization").
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernels/optimizer_step.h"
#include "engine/optim/optimizer.h"

namespace assay::engine {

class Adamw : public Optimizer {
 public:
  Adamw(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options);
  void step(double learning_rate, double gradient_scale) override;

 private:
  /// A parameter with its own step count: torch.optim counts the updates a parameter took part in.
  struct Slot {
    AdamwTensors tensors;
    int64_t steps = 0;
  };

  OptimizerOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace assay::engine
