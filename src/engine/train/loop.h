// The training loop: steps over windows of micro-batches, each step measured.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "data/token_file.h"
#include "engine/model/causal_lm.h"
#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/schedule.h"
#include "engine/train/order.h"
#include "engine/train/phase_meter.h"
#include "engine/train/stop.h"
#include "job/event.h"

namespace assay::engine {

struct LoopOptions {
  int64_t max_length = 512;    ///< rows are cut to this many tokens
  double max_grad_norm = 1.0;  ///< 0: no clipping
};

/// What a loop works on; everything outlives it.
struct LoopParts {
  CausalLM& model;
  const std::vector<at::Tensor>& trainable;
  Optimizer& optimizer;
  const Schedule& schedule;
  LossScaler* scaler;  ///< null: the loss is not scaled
  const data::TokenFile& rows;
  RowOrder& order;
  StopRule& stop;
  PhaseMeter& meter;
  c10::Device device;
};

struct LoopResult {
  std::string stopped_by;
  double train_runtime = 0;  ///< seconds
  Warmup warmup;
};

/// Trains until a stop rule ends the run and calls `on_step` after each step. The loss of a step is the sum over its
/// micro-batches of the tokens' cross-entropies, divided by the number of supervised tokens in the whole window, as
/// transformers.Trainer (num_items_in_batch) does. A window without any supervised token has loss 0 and gradient norm
/// 0 and changes no parameter; the schedule moves on. (The reference divides by zero there and makes every parameter
/// NaN.)
///
/// With a scaler a step whose gradients are not finite changes nothing, and the schedule stays where it is, as with
/// torch.amp.GradScaler in transformers.Trainer.
///
/// Throws Diverged, after `on_step` told of the step, when a loss is not finite; when gradients are not and there is no
/// scaler, before they change a parameter; or when they are not however small the scale got.
LoopResult run_loop(const LoopOptions& options, const LoopParts& parts,
                    const std::function<void(const job::Step&)>& on_step);

}  // namespace assay::engine
