#include "engine/train/loop.h"

#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "base/text.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/train/batch.h"
#include "engine/train/failure.h"

namespace assay::engine {
namespace {

struct StepUse {
  PhaseUse forward;
  PhaseUse backward;
  PhaseUse optimizer;
};

std::vector<PackedBatch> pack_window(const LoopOptions& options, const LoopParts& parts, int64_t step) {
  std::vector<PackedBatch> batches;
  for (const auto& indices : parts.order.micro_batches(step)) {
    batches.push_back(pack_rows(parts.rows, indices, options.max_length, parts.model.vocab_size(), parts.device));
  }
  return batches;
}

void count(const std::vector<PackedBatch>& batches, job::Step& event) {
  for (const PackedBatch& batch : batches) {
    event.samples += batch.rows();
    event.real_tokens += batch.tokens();
    event.padded_tokens += batch.padding();
    event.supervised_tokens += batch.supervised();
    event.forward_only += batch.supervised() == 0 ? 1 : 0;
  }
}

/// Adds the gradients of one micro-batch, each token's loss multiplied by `factor`; returns its sum of cross-entropies.
double accumulate(const LoopParts& parts, const PackedBatch& batch, double factor, StepUse& use) {
  at::Tensor loss;
  parts.meter.measure("forward", use.forward, [&] { loss = parts.model.loss_sum(batch, factor); });
  if (batch.supervised() > 0) {
    parts.meter.measure("backward", use.backward,
                        [&] { torch::autograd::backward({loss}, {at::scalar_tensor(factor, loss.options())}); });
  }
  return loss.item<double>();
}

/// Clips, updates and drops the gradients, unless they are not finite: then it only drops them.
void update(const LoopOptions& options, const LoopParts& parts, job::Step& event) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parts.trainable) {
    if (parameter.grad().defined()) {
      gradients.push_back(parameter.grad());
    }
  }
  const GradientRule rule{.scale = 1.0 / event.loss_scale,
                          .max_norm = options.max_grad_norm,
                          .skip_non_finite = true,
                          .stats = gradient_stats(gradients)};
  parts.optimizer.step(event.learning_rate, rule);
  for (const at::Tensor& parameter : parts.trainable) {
    parameter.mutable_grad().reset();
  }
  event.grad_norm = gradient_norm(rule.stats, rule.scale);
  if (parts.scaler != nullptr) {
    event.skipped = has_non_finite(rule.stats);
    parts.scaler->update(event.skipped);
    if (event.skipped) {
      parts.optimizer.forget_last_step();
    }
  }
}

void put(const StepUse& use, job::Step& event) {
  event.forward_seconds = use.forward.seconds;
  event.backward_seconds = use.backward.seconds;
  event.optimizer_seconds = use.optimizer.seconds;
  event.forward_peak_bytes = use.forward.peak_bytes;
  event.backward_peak_bytes = use.backward.peak_bytes;
  event.optimizer_peak_bytes = use.optimizer.peak_bytes;
}

/// Step `step`; `skipped` of those before it changed nothing.
job::Step run_step(const LoopOptions& options, const LoopParts& parts, int64_t step, int64_t skipped) {
  const double start = MonotonicSeconds();
  parts.meter.set_step(step);
  const std::vector<PackedBatch> batches = pack_window(options, parts, step);
  job::Step event;
  event.step = step;
  event.learning_rate = parts.schedule.learning_rate(step - skipped);
  event.loss_scale = parts.scaler == nullptr ? 1.0 : parts.scaler->scale();
  count(batches, event);

  StepUse use;
  const double factor = event.loss_scale / static_cast<double>(event.supervised_tokens);
  for (const PackedBatch& batch : batches) {
    event.loss += accumulate(parts, batch, factor, use);
  }
  if (event.supervised_tokens > 0) {
    event.loss /= static_cast<double>(event.supervised_tokens);
  }
  if (event.supervised_tokens > 0 && std::isfinite(event.loss)) {
    parts.meter.measure("optimizer step", use.optimizer, [&] { update(options, parts, event); });
  }
  put(use, event);
  event.seconds = MonotonicSeconds() - start;
  return event;
}

}  // namespace

LoopResult run_loop(const LoopOptions& options, const LoopParts& parts,
                    const std::function<void(const job::Step&)>& on_step) {
  const double start = MonotonicSeconds();
  LoopResult result;
  int64_t skipped = 0;
  for (int64_t step = 1; result.stopped_by.empty(); ++step) {
    const job::Step event = run_step(options, parts, step, skipped);
    skipped += event.skipped ? 1 : 0;
    result.train_runtime = MonotonicSeconds() - start;
    on_step(event);
    throw_if_diverged(event, parts.scaler != nullptr && parts.scaler->exhausted(), "bfloat16 or float32");
    result.stopped_by = parts.stop.after_step(step, event.seconds, result.train_runtime);
  }
  parts.meter.set_step(0);
  result.warmup = parts.stop.warmup();
  return result;
}

}  // namespace assay::engine
