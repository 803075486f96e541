// Clipping, unscaling and overflow of gradients, decided where the gradients are: nothing here makes the host wait for
// a device unless it says so.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace assay::engine {

/// How an update treats its gradients. Give it to adamw_step() or sgd_step().
struct GradientRule {
  /// Gradients are multiplied by this first: 1 / loss scale, 1 / ranks.
  double scale = 1.0;
  /// Gradients whose norm (after `scale`) is longer are shortened to it, as torch.nn.utils.clip_grad_norm_ does;
  /// 0: never. Needs `stats`.
  double max_norm = 0.0;
  /// The update changes nothing at all when has_non_finite(stats), as torch.amp.GradScaler has it.
  /// Needs `stats`. Such an update does not count: give the next one the same AdamwScalars::step.
  bool skip_non_finite = false;
  /// gradient_stats() over all gradients of the update; undefined: unknown. On the device of the parameters.
  at::Tensor stats{};
};

/// update_scale() (update_scale.h) as libtorch's operations: a rule as tensors, so that libtorch's operations can
/// follow it without a wait for the device.
struct RuleTensors {
  at::Tensor factor;  ///< of the gradients: a scalar on the device of the statistics or, without any, on the CPU
  at::Tensor skip;    ///< likewise, whether the update must change nothing; undefined: never
};
RuleTensors rule_tensors(const GradientRule& rule);

/// Float64 [2] on the gradients' device: the sum of their squares, accumulated in float32 or better, and how many of
/// their elements are infinite or not a number. One pass over memory. Where gradients are sharded, add up (all-reduce)
/// those of the ranks. Gradients are on one device; of no gradients it is zero, on the CPU. Results do not depend on
/// the number of threads.
at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients);

/// The Euclidean norm that `stats` stand for, of gradients multiplied by `scale`. Waits for the device.
double gradient_norm(const at::Tensor& stats, double scale = 1.0);

/// Whether gradients with these `stats` have an element, or a sum of squares, that is not finite: exactly then is
/// gradient_norm() not finite. Waits for the device.
bool has_non_finite(const at::Tensor& stats);

}  // namespace assay::engine
