#include "engine/train/vit_loop.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/train/failure.h"
#include "engine/train/vit_schedule.h"

namespace assay::engine {
namespace {

struct StepUse {
  PhaseUse data;
  PhaseUse transfer;
  PipelineUse passes;
  PhaseUse optimizer;
};

/// Warm-up of the fair protocol ends when the last steps took about the same time.
class Stability {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  bool reached() const {
    constexpr size_t kSteps = 3;
    constexpr double kSpread = 0.05;
    if (seconds_.size() < kSteps) {
      return false;
    }
    const auto [least, most] = std::minmax_element(seconds_.end() - kSteps, seconds_.end());
    return *most <= *least * (1 + kSpread);
  }

 private:
  std::vector<double> seconds_;
};

class VitLoop {
 public:
  VitLoop(const job::VitPlan& plan, VitSession& session, PhaseMeter& meter, EventWriter& events, c10::Device device)
      : plan_(plan), session_(session), meter_(meter), events_(events), device_(device) {}

  VitLoopResult run() {
    const double start = MonotonicSeconds();
    VitLoopResult result;
    int64_t step = 0;
    if (plan_.protocol == "fair") {
      step = warm_up();
      result.warmup = {.steps = step, .seconds = MonotonicSeconds() - start};
    }
    session_.engine->ledger().reset_peak();
    peak_bytes_ = 0;
    for (int64_t counted = 1; counted <= session_.planned_steps; ++counted) {
      run_step(++step, counted);
      evaluate_after(counted, step);
    }
    result.train_runtime = MonotonicSeconds() - start;
    result.peak_bytes = peak_bytes_;
    result.at_peak = session_.engine->ledger().peak(device_.is_cpu()).by_kind;
    write_collectives();
    return result;
  }

 private:
  bool first_rank() const { return session_.world->rank() == 0; }

  /// The sum over all ranks of each of `values`.
  std::vector<double> sums(std::vector<double> values) {
    at::Tensor buffer = at::tensor(values, at::kDouble).to(device_);
    if (session_.world->size() > 1) {
      session_.world->all_reduce(buffer, ReduceOp::kSum, "sums of the loop")->wait();
    }
    const at::Tensor host = buffer.to(at::kCPU);
    return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
  }

  /// Steps until every rank's times are stable; returns how many.
  int64_t warm_up() {
    Stability stability;
    int64_t step = 0;
    bool all_stable = false;
    while (!all_stable && step < plan_.max_warmup_steps) {
      stability.add(run_step(++step, 1));
      all_stable = sums({stability.reached() ? 0.0 : 1.0})[0] == 0;
    }
    for (const auto& [name, group] : session_.groups->named()) {
      group->reset_stats();
    }
    return step;
  }

  ImageBatch batch_of(int64_t step, int64_t micro, StepUse& use) {
    ImageBatch batch;
    const bool pixels = session_.model().begins_model();
    meter_.measure("data", use.data, [&] { batch = session_.batches->micro_batch(step, micro, pixels); });
    meter_.measure("transfer", use.transfer, [&] {
      batch = {pixels ? batch.pixels_BCHW.to(device_) : batch.pixels_BCHW, batch.labels_B.to(device_)};
    });
    return batch;
  }

  /// The mean loss of this data rank's part where this rank counts it, else 0.
  double accumulate(int64_t step, StepUse& use) {
    const int64_t micro_batches = job::MicroBatches(plan_);
    const double loss = session_.pipeline->train(
        *session_.engine, [&](int64_t micro) { return batch_of(step, micro, use); }, micro_batches,
        plan_.batch_size / micro_batches, reduces_once(plan_), meter_, use.passes);
    return counts_loss() ? loss : 0.0;
  }

  /// One of the ranks with one model does: the first tensor rank of the last stage.
  bool counts_loss() {
    const Communicator* tensor = session_.groups->tensor();
    return session_.model().ends_model() && (tensor == nullptr || tensor->rank() == 0);
  }

  /// Step `step`, whose learning rate is that of step `counted`; returns its seconds.
  double run_step(int64_t step, int64_t counted) {
    meter_.set_step(step);
    const double start = MonotonicSeconds();
    const CollectiveStats before = communication();
    StepUse use;
    job::Step event;
    event.step = step;
    event.learning_rate = vit_learning_rate(plan_, counted, session_.planned_steps);
    const double loss = accumulate(step, use);
    StepReport report;
    meter_.measure("optimizer step", use.optimizer, [&] {
      session_.engine->step(event.learning_rate, plan_.max_grad_norm);
      report = session_.engine->last_step();
    });
    event.seconds = MonotonicSeconds() - start;
    meter_.end_step(start, event.seconds);
    const CollectiveStats after = communication();
    event.loss = sums({loss})[0] / static_cast<double>(session_.groups->data_ranks());
    event.grad_norm = report.gradient_norm;
    event.loss_scale = report.loss_scale;
    event.skipped = report.skipped && session_.engine->context().policy.scale_loss;
    write_step(event, use, before, after);
    throw_if_diverged(event, report.exhausted, plan_.precision == "fp32" ? "" : "precision fp32");
    return event.seconds;
  }

  /// All collectives of this rank in the groups of all ranks.
  CollectiveStats communication() const {
    CollectiveStats total;
    for (const auto& [name, group] : session_.groups->named()) {
      for (const CollectiveStats& stats : group->stats()) {
        total.busy_seconds += stats.busy_seconds;
        total.exposed_seconds += stats.exposed_seconds;
        total.hidden_seconds += stats.hidden_seconds;
      }
    }
    return total;
  }

  void write_step(job::Step event, const StepUse& use, const CollectiveStats& before, const CollectiveStats& after) {
    event.samples = plan_.batch_size * session_.groups->data_ranks();
    event.forward_seconds = use.passes.forward.seconds;
    event.backward_seconds = use.passes.backward.seconds;
    event.optimizer_seconds = use.optimizer.seconds;
    event.forward_peak_bytes = use.passes.forward.peak_bytes;
    event.backward_peak_bytes = use.passes.backward.peak_bytes;
    event.optimizer_peak_bytes = use.optimizer.peak_bytes;
    peak_bytes_ =
        std::max({peak_bytes_, event.forward_peak_bytes, event.backward_peak_bytes, event.optimizer_peak_bytes});
    if (first_rank()) {
      events_.write(event);
    }
    events_.write(job::RankStep{.rank = session_.world->rank(),
                                .step = event.step,
                                .seconds = event.seconds,
                                .data_seconds = use.data.seconds,
                                .transfer_seconds = use.transfer.seconds,
                                .forward_seconds = use.passes.forward.seconds,
                                .backward_seconds = use.passes.backward.seconds,
                                .optimizer_seconds = use.optimizer.seconds,
                                .communication_seconds = after.busy_seconds - before.busy_seconds,
                                .exposed_communication_seconds = after.exposed_seconds - before.exposed_seconds,
                                .hidden_communication_seconds = after.hidden_seconds - before.hidden_seconds,
                                .loss_scale = event.loss_scale,
                                .skipped = event.skipped});
  }

  void evaluate_after(int64_t counted, int64_t step) {
    const int64_t per_epoch = session_.batches->steps_per_epoch();
    if (!session_.evaluation) {
      return;
    }
    const bool last = counted == session_.planned_steps;
    const bool epoch_ends = per_epoch > 0 && counted % per_epoch == 0;
    if (last || (epoch_ends && plan_.evaluate_every_epoch)) {
      evaluate(per_epoch > 0 ? (counted + per_epoch - 1) / per_epoch : 0, step);
    }
  }

  /// Data ranks take images in turn. All run as many batches, since each may need the others' shards of the weights;
  /// what a rank has too many does not count.
  void evaluate(int64_t epoch, int64_t step) {
    const double start = MonotonicSeconds();
    const int64_t ranks = session_.groups->data_ranks();
    const int64_t images = session_.evaluation->images();
    const int64_t of_rank = (images + ranks - 1) / ranks;
    session_.model().set_training(false);
    std::vector<double> totals = {0, 0, 0};
    PhaseUse use;
    meter_.measure("evaluation", use, [&] {
      const at::NoGradGuard no_grad;
      for (int64_t begin = 0; begin < of_rank; begin += plan_.batch_size) {
        add_batch(begin, std::min(of_rank, begin + plan_.batch_size), totals);
      }
    });
    session_.model().set_training(true);
    totals = sums(totals);
    if (first_rank()) {
      events_.write(job::Evaluation{.epoch = epoch,
                                    .step = step,
                                    .loss = totals[0] / totals[2],
                                    .accuracy = totals[1] / totals[2],
                                    .samples = std::llround(totals[2]),
                                    .seconds = MonotonicSeconds() - start});
    }
  }

  /// Adds losses, right answers and images of this rank's positions [begin, end).
  void add_batch(int64_t begin, int64_t end, std::vector<double>& totals) {
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
    if (real > 0 && counts_loss()) {
      const at::Tensor logits = of_all.narrow(0, 0, real).to(at::kFloat);
      const at::Tensor labels = session_.evaluation->labels(indices).narrow(0, 0, real).to(device_);
      totals[0] += at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<double>();
      totals[1] += static_cast<double>(logits.argmax(-1).eq(labels).sum().item<int64_t>());
      totals[2] += static_cast<double>(real);
    }
  }

  void write_collectives() {
    for (const auto& [name, group] : session_.groups->named()) {
      for (const CollectiveStats& stats : group->stats()) {
        events_.write(job::CollectiveTotals{.rank = session_.world->rank(),
                                            .operation = stats.kind == "recv" ? "receive" : std::string(stats.kind),
                                            .group = name,
                                            .group_size = group->size(),
                                            .calls = stats.calls,
                                            .payload_bytes = stats.bytes,
                                            .seconds = stats.busy_seconds,
                                            .exposed_seconds = stats.exposed_seconds});
      }
    }
  }

  const job::VitPlan& plan_;
  VitSession& session_;
  PhaseMeter& meter_;
  EventWriter& events_;
  c10::Device device_;
  int64_t peak_bytes_ = 0;
};

}  // namespace

VitLoopResult run_vit_loop(const job::VitPlan& plan, VitSession& session, PhaseMeter& meter, EventWriter& events,
                           c10::Device device) {
  return VitLoop(plan, session, meter, events, device).run();
}

}  // namespace assay::engine
