#include "engine/train/causal_lm_task.h"

namespace assay::engine {
namespace {

void count(const TokenWindow& window, bool forward_only, job::Step& event) {
  for (int64_t i = 0; i < window.with_rows; ++i) {
    const PackedBatch& batch = window.batches[static_cast<size_t>(i)];
    event.samples += batch.rows();
    event.real_tokens += batch.tokens();
    event.padded_tokens += batch.padding();
    event.supervised_tokens += batch.supervised();
    event.forward_only += forward_only && batch.supervised() == 0 ? 1 : 0;
  }
}

}  // namespace

bool CausalLmTask::train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) {
  TokenWindow window;
  meter.measure("data", use.data, [&] { window = batches_.window(step, model_.vocab_size(), device_); });
  const bool trains = window.supervised_tokens > 0;
  const bool always_backward = trains && updater.takes_every_batch();
  if (counts_) {
    count(window, !always_backward, event);
  }
  const auto tokens = static_cast<double>(window.supervised_tokens);
  const double factor = updater.loss_scale() / tokens;
  double sum = 0;
  for (size_t i = 0; i < window.batches.size(); ++i) {
    const PackedBatch& batch = window.batches[i];
    at::Tensor loss;
    meter.measure("forward", use.forward,
                  [&] { loss = model_.loss_sum(batch, factor * static_cast<double>(updater.data_ranks())); });
    if (batch.supervised() > 0 || always_backward) {
      const bool last = i + 1 == window.batches.size();
      meter.measure("backward", use.backward, [&] { updater.backward(loss, factor, last); });
    }
    sum += loss.item<double>();
  }
  event.loss = trains && counts_ ? sum / tokens : 0;
  return trains;
}

}  // namespace assay::engine
