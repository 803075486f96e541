#include "engine/train/vit_task.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "engine/train/device.h"
#include "engine/train/loop.h"

namespace assay::engine {

ImageBatch VitTask::batch_of(int64_t step, int64_t micro, PhaseMeter& meter, StepUse& use) {
  ImageBatch batch;
  const bool pixels = session_.model().begins_model();
  meter.measure_ahead("data", use.data, [&] { batch = session_.batches->micro_batch(step, micro, pixels); });
  meter.measure_ahead("transfer", use.transfer, [&] {
    batch = {pixels ? to_device(batch.pixels_BCHW, device_) : batch.pixels_BCHW, to_device(batch.labels_B, device_)};
  });
  return batch;
}

bool VitTask::counts() {
  return session_.groups->counts(session_.model().ends_model());
}

TaskStep VitTask::train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) {
  const int64_t micro_batches = job::MicroBatches(plan_);
  std::vector<at::Tensor> losses = session_.pipeline->train(
      updater, [&](int64_t micro) { return batch_of(step, micro, meter, use); }, micro_batches,
      plan_.batch_size / micro_batches, meter, use);
  if (!counts()) {
    return {};
  }
  event.samples = plan_.batch_size;
  return {.losses = std::move(losses), .divisor = static_cast<double>(micro_batches * updater.data_ranks())};
}

std::optional<double> VitTask::step_over(int64_t step, int64_t counted, bool /*last*/, PhaseMeter& meter) {
  const int64_t per_epoch = session_.batches->steps_per_epoch();
  if (!session_.evaluation) {
    return std::nullopt;
  }
  const bool last = counted == session_.planned_steps;
  const bool epoch_ends = per_epoch > 0 && counted % per_epoch == 0;
  if (last || (epoch_ends && plan_.evaluate_every_epoch)) {
    evaluate(per_epoch > 0 ? (counted + per_epoch - 1) / per_epoch : 0, step, meter);
  }
  return std::nullopt;
}

/// Data ranks take images in turn. All run as many batches, since each may need the others' shards of the weights;
/// what a rank has too many does not count.
void VitTask::evaluate(int64_t epoch, int64_t step, PhaseMeter& meter) {
  const double start = MonotonicSeconds();
  const int64_t ranks = session_.groups->data_ranks();
  const int64_t of_rank = (session_.evaluation->images() + ranks - 1) / ranks;
  session_.model().set_training(false);
  std::vector<double> totals = {0, 0, 0};
  PhaseUse use;
  meter.measure("evaluation", use, [&] {
    const at::NoGradGuard no_grad;
    for (int64_t begin = 0; begin < of_rank; begin += plan_.batch_size) {
      add_batch(begin, std::min(of_rank, begin + plan_.batch_size), totals);
    }
  });
  session_.model().set_training(true);
  totals = sum_over_ranks(session_.world.get(), device_, totals, "evaluation");
  if (session_.world->rank() == 0) {
    events_.write(job::Evaluation{.epoch = epoch,
                                  .step = step,
                                  .loss = totals[0] / totals[2],
                                  .accuracy = totals[1] / totals[2],
                                  .samples = std::llround(totals[2]),
                                  .seconds = MonotonicSeconds() - start});
  }
}

/// Adds losses, right answers and images of this rank's positions [begin, end).
void VitTask::add_batch(int64_t begin, int64_t end, std::vector<double>& totals) {
  const int64_t images = session_.evaluation->images();
  std::vector<int64_t> indices;
  int64_t real = 0;
  for (int64_t position = begin; position < end; ++position) {
    const int64_t index = position * session_.groups->data_ranks() + session_.groups->data_rank();
    real += index < images ? 1 : 0;
    indices.push_back(std::min(index, images - 1));
  }
  at::Tensor pixels;
  if (session_.model().begins_model()) {
    pixels = session_.evaluation->batch(indices).pixels_BCHW.to(device_);
  }
  const at::Tensor of_all = session_.pipeline->logits(pixels, end - begin);
  if (real > 0 && counts()) {
    const at::Tensor logits = of_all.narrow(0, 0, real).to(at::kFloat);
    const at::Tensor labels = session_.evaluation->labels(indices).narrow(0, 0, real).to(device_);
    totals[0] += at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<double>();
    totals[1] += static_cast<double>(logits.argmax(-1).eq(labels).sum().item<int64_t>());
    totals[2] += static_cast<double>(real);
  }
}

}  // namespace assay::engine
