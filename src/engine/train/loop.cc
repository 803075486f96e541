#include "engine/train/loop.h"

#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/text.h"
#include "engine/kernels/gradient_rule.h"
#include "engine/train/batch.h"

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
  }
}

/// Adds the gradients of one micro-batch; returns its sum of cross-entropies.
double accumulate(const LoopParts& parts, const PackedBatch& batch, int64_t window_supervised, StepUse& use) {
  at::Tensor loss;
  parts.meter.measure("forward", use.forward, [&] { loss = parts.model.loss_sum(batch); });
  if (batch.supervised() > 0) {
    parts.meter.measure("backward", use.backward, [&] {
      const at::Tensor seed = at::scalar_tensor(1.0 / static_cast<double>(window_supervised), loss.options());
      torch::autograd::backward({loss}, {seed});
    });
  }
  return loss.item<double>();
}

/// Clips, updates and drops the gradients; returns their norm before clipping.
double update(const LoopOptions& options, const LoopParts& parts, double learning_rate) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parts.trainable) {
    if (parameter.grad().defined()) {
      gradients.push_back(parameter.grad());
    }
  }
  const GradientRule rule{.max_norm = options.max_grad_norm, .stats = gradient_stats(gradients)};
  parts.optimizer.step(learning_rate, rule);
  for (const at::Tensor& parameter : parts.trainable) {
    parameter.mutable_grad().reset();
  }
  return gradient_norm(rule.stats);
}

void put(const StepUse& use, job::Step& event) {
  event.forward_seconds = use.forward.seconds;
  event.backward_seconds = use.backward.seconds;
  event.optimizer_seconds = use.optimizer.seconds;
  event.forward_peak_bytes = use.forward.peak_bytes;
  event.backward_peak_bytes = use.backward.peak_bytes;
  event.optimizer_peak_bytes = use.optimizer.peak_bytes;
}

job::Step run_step(const LoopOptions& options, const LoopParts& parts, int64_t step) {
  const double start = MonotonicSeconds();
  parts.meter.set_step(step);
  const std::vector<PackedBatch> batches = pack_window(options, parts, step);
  job::Step event;
  event.step = step;
  event.learning_rate = parts.schedule.learning_rate(step);
  count(batches, event);

  StepUse use;
  for (const PackedBatch& batch : batches) {
    event.loss += accumulate(parts, batch, event.supervised_tokens, use);
  }
  if (event.supervised_tokens > 0) {
    event.loss /= static_cast<double>(event.supervised_tokens);
    parts.meter.measure("optimizer step", use.optimizer,
                        [&] { event.grad_norm = update(options, parts, event.learning_rate); });
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
  for (int64_t step = 1; result.stopped_by.empty(); ++step) {
    const job::Step event = run_step(options, parts, step);
    result.train_runtime = MonotonicSeconds() - start;
    on_step(event);
    result.stopped_by = parts.stop.after_step(step, event.seconds, result.train_runtime);
  }
  parts.meter.set_step(0);
  result.warmup = parts.stop.warmup();
  return result;
}

}  // namespace assay::engine
