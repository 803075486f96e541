// AdamW (Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernels/optimizer_step.h"
#include "engine/optim/optimizer.h"

namespace assay::engine {

/// What torch.optim.AdamW calls its moments.
inline constexpr std::string_view kFirstMoment = "exp_avg";
inline constexpr std::string_view kSecondMoment = "exp_avg_sq";

class Adamw : public Optimizer {
 public:
  Adamw(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options);
  void step(double learning_rate, const GradientRule& rule) override;
  void forget_last_step() override;
  int64_t untouched_bytes() const override;
  std::vector<ParameterState> states() override;
  void publish_masters() override;

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;  ///< with its gradient
    AdamwTensors update;   ///< without gradient; its `parameter` is the float32 master where there is one
    int64_t steps = 0;     ///< torch.optim counts the updates that a parameter took part in
    bool in_last_step = false;
  };

  OptimizerOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace assay::engine
