// From the losses of a step's micro-batches to an update of the parameters, on one rank or over several.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/shard_engine.h"

namespace assay::engine {

/// Not safe to use from two threads.
class Updater {
 public:
  virtual ~Updater() = default;

  /// What losses are multiplied by for backward; 1: they are not.
  virtual double loss_scale() = 0;
  /// Ranks that each bring a part of the step.
  virtual int64_t data_ranks() const = 0;
  /// Whether each micro-batch of a step must go backward, one that bears no loss too: the last one ends the step, and
  /// other ranks wait in it.
  virtual bool takes_every_batch() const = 0;
  /// Adds the gradients of the sum over all data ranks of `loss` times `gradient`, loss scale included. `last`: of the
  /// step's on this rank.
  virtual void backward(const at::Tensor& loss, double gradient, bool last) = 0;
  /// The same of `output`, which other ranks go on with: its gradient is `gradient`.
  virtual void backward_from(const at::Tensor& output, const at::Tensor& gradient, bool last) = 0;
  /// Clips, updates and drops the gradients, unless they are not finite: then it only drops them. Does not wait for a
  /// device.
  virtual void step(double learning_rate, double max_norm) = 0;
  /// What came of the last step(), once after each; waits for the device. `skipped` only where a loss scale may cure
  /// that.
  virtual StepReport report() = 0;
  /// Forgets how much memory the updates took at most.
  virtual void reset_peak() {}
};

/// One rank: `optimizer` over the gradients of `trainable`. `scaler` is null when losses are not scaled. All outlive
/// it.
std::unique_ptr<Updater> make_local_updater(Optimizer& optimizer, const std::vector<at::Tensor>& trainable,
                                            LossScaler* scaler);

/// The ranks of `engine`, which outlives it. With `no_sync` gradients are reduced once a step.
std::unique_ptr<Updater> make_sharded_updater(ShardEngine& engine, int64_t data_ranks, bool no_sync);

}  // namespace assay::engine
