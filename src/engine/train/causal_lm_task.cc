#include "engine/train/causal_lm_task.h"

#include <utility>

namespace assay::engine {
namespace {

void count(const TokenWindow& window, const CausalLM& model, bool forward_only, job::Step& event) {
  for (int64_t i = 0; i < window.with_rows; ++i) {
    const PackedBatch& batch = window.batches[static_cast<size_t>(i)];
    event.samples += batch.rows();
    event.real_tokens += batch.real_tokens();
    event.padded_tokens += batch.padding();
    event.supervised_tokens += batch.supervised();
    event.forward_only += forward_only && !model.bears_loss(batch) ? 1 : 0;
  }
}

}  // namespace

TaskStep CausalLmTask::train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) {
  TokenWindow window;
  meter.measure_ahead("data", use.data, [&] { window = batches_.window(step, model_.vocab_size(), device_); });
  const bool trains = window.supervised_tokens > 0;
  const bool always_backward = trains && updater.takes_every_batch();
  // Stages go forward only for what comes back.
  const bool runs = trains || pipeline_.stages() == 1;
  if (counts_) {
    count(window, model_, runs && !always_backward, event);
  }
  std::vector<at::Tensor> losses;
  if (runs) {
    losses = run(window, updater, always_backward, meter, use);
  }
  if (!trains || !counts_) {
    return {.updates = trains};
  }
  return {.losses = std::move(losses), .divisor = static_cast<double>(window.supervised_tokens)};
}

std::optional<double> CausalLmTask::step_over(int64_t step, int64_t counted, bool last, PhaseMeter& meter) {
  const bool is_time = last || (parts_.eval_every > 0 && counted % parts_.eval_every == 0);
  if (parts_.held_out == nullptr || !is_time) {
    return std::nullopt;
  }
  job::HeldOutLoss event = parts_.held_out->evaluate(
      {.model = model_, .pipeline = pipeline_, .world = parts_.world, .device = device_, .counts = counts_}, meter);
  event.step = step;
  if (parts_.world == nullptr || parts_.world->rank() == 0) {
    parts_.events.write(event);
  }
  return event.loss;
}

/// Returns the losses where this stage ends the model.
std::vector<at::Tensor> CausalLmTask::run(const TokenWindow& window, Updater& updater, bool always_backward,
                                          PhaseMeter& meter, StepUse& use) {
  const double factor = updater.loss_scale() / static_cast<double>(window.supervised_tokens);
  const auto batch_at = [&](int64_t micro) -> const PackedBatch& { return window.batches[static_cast<size_t>(micro)]; };
  const auto micro_batches = static_cast<int64_t>(window.batches.size());
  std::vector<at::Tensor> losses;
  const auto go_back = [&](int64_t micro, const at::Tensor& output, const at::Tensor& gradient) {
    const bool last = micro + 1 == micro_batches;
    if (gradient.defined()) {
      updater.backward_from(output, gradient, last);
    } else if (model_.bears_loss(batch_at(micro)) || always_backward) {
      updater.backward(output, factor, last);
    }
    if (model_.ends_model()) {
      losses.push_back(output.detach());
    }
  };
  pipeline_.train({.micro_batches = micro_batches,
                   .tokens = [&](int64_t micro) { return batch_at(micro).tokens(); },
                   .forward =
                       [&](int64_t micro, const at::Tensor& input) {
                         const double gradient = factor * static_cast<double>(updater.data_ranks());
                         return model_.forward(batch_at(micro), input, gradient);
                       },
                   .backward = go_back},
                  meter, use);
  return losses;
}

}  // namespace assay::engine
