// The auxiliary loss of a mixture's routers, which is least where all experts have as many tokens (Fedus et al. 2021,
// "Switch Transformers", equations 4 to 6).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace assay::engine {

/// The loss of one micro-batch, as load_balancing_loss_func() of transformers has it: the number of experts times the
/// sum over them of the choices per token that fell on an expert times its mean probability, both of all tokens in all
/// layers. Backward of a layer thus depends on what the layers after it chose: it must begin after all have counted.
class RouterBalance {
 public:
  /// `gradient`: what backward brings to the loss.
  explicit RouterBalance(double gradient) : gradient_(gradient) {}

  /// `logits_TE` as they are; their gradient has that of `balance`'s loss added to it.
  static at::Tensor attach(const at::Tensor& logits_TE, const std::shared_ptr<RouterBalance>& balance);

  /// Adds a layer: its routers' logits, and how many tokens chose each expert, int64.
  void count(const at::Tensor& logits_TE, const at::Tensor& choices_E);

  /// Of the layers so far; a float32 scalar without a gradient.
  at::Tensor loss() const;

 private:
  friend struct BalancedLogits;

  at::Tensor gradient_of_logits(const at::Tensor& logits_TE) const;

  double gradient_;
  at::Tensor choices_E_;        ///< of all tokens in all layers, float32
  at::Tensor probabilities_E_;  ///< their sums
  int64_t tokens_ = 0;          ///< of all layers together
};

}  // namespace assay::engine
