#include "engine/train/loop.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"
#include "engine/train/failure.h"
#include "engine/train/rank_agreement.h"

namespace assay::engine {
namespace {

void put(const StepUse& use, job::Step& event) {
  event.forward_seconds = use.forward.seconds;
  event.backward_seconds = use.backward.seconds;
  event.optimizer_seconds = use.optimizer.seconds;
  event.forward_peak_bytes = use.forward.peak_bytes;
  event.backward_peak_bytes = use.backward.peak_bytes;
  event.optimizer_peak_bytes = use.optimizer.peak_bytes;
}

double sum_on_host(const std::vector<at::Tensor>& losses) {
  if (losses.empty()) {
    return 0;
  }
  const at::Tensor host = at::stack(losses).to(at::kCPU).to(at::kDouble);
  const auto* first = host.const_data_ptr<double>();
  return std::accumulate(first, first + host.numel(), 0.0);
}

/// Warm-up ends when the last steps took about the same time.
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

class Loop {
 public:
  Loop(const LoopOptions& options, const LoopParts& parts)
      : options_(options), parts_(parts), step_(options.begin.step), skipped_(options.begin.skipped) {}

  LoopResult run() {
    if (options_.warms_up && step_ == 0) {
      warm_up();
      result_.warmup = {.steps = step_, .seconds = MonotonicSeconds() - start_};
    }
    parts_.observer.measuring_begins();
    parts_.updater.reset_peak();
    result_.stopped_by = parts_.stop.after_last_step(options_.begin.counted);
    for (int64_t counted = options_.begin.counted + 1; result_.stopped_by.empty(); ++counted) {
      const StepEnd end = run_step(counted, /*counts=*/true);
      result_.stopped_by = end.stopped_by;
      finish_step(counted, end.step);
      result_.train_runtime = MonotonicSeconds() - start_;
    }
    parts_.meter.set_step(0);
    if (!options_.warms_up) {
      result_.warmup = parts_.stop.warmup();
    }
    return result_;
  }

 private:
  struct StepEnd {
    double seconds = 0;
    job::Step step;
    std::string stopped_by;  ///< one of kStopCauses
  };

  /// Evaluates where it is time, which may end the run, and tells who works between steps.
  void finish_step(int64_t counted, const job::Step& step) {
    const std::optional<double> loss = parts_.task.step_over(step_, counted, !result_.stopped_by.empty(), parts_.meter);
    if (loss) {
      const std::string_view stop = parts_.stop.after_evaluation(*loss);
      result_.stopped_by = result_.stopped_by.empty() ? stop : result_.stopped_by;
    }
    if (parts_.between_steps) {
      parts_.between_steps({.position = {step_, counted, skipped_, parts_.stop.evaluations()},
                            .step = step,
                            .evaluation_loss = loss,
                            .last = !result_.stopped_by.empty()});
    }
  }

  /// Steps until every rank's times are stable.
  void warm_up() {
    Stability stability;
    bool all_stable = false;
    while (!all_stable && step_ < options_.max_warmup_steps) {
      stability.add(run_step(1, /*counts=*/false).seconds);
      all_stable = sum({stability.reached() ? 0.0 : 1.0}, "stability")[0] == 0;
    }
  }

  std::vector<double> sum(const std::vector<double>& values, std::string_view label) {
    return sum_over_ranks(parts_.world, parts_.device, values, label);
  }

  /// The next step, with the learning rate of step `counted` of those that count.
  StepEnd run_step(int64_t counted, bool counts) {
    const double start = MonotonicSeconds();
    parts_.observer.step_begins();
    parts_.meter.set_step(++step_);
    StepUse use;
    job::Step event;
    event.step = step_;
    event.learning_rate = parts_.schedule.learning_rate(options_.schedule_waits ? counted - skipped_ : counted);
    await_samples(use);
    const StepReport report = train(event, use);
    event.seconds = MonotonicSeconds() - start;
    parts_.meter.end_step(start, event.seconds);
    put(use, event);
    parts_.observer.step_computed();
    const std::string_view stop =
        counts ? parts_.stop.after_step(counted, event.seconds, MonotonicSeconds() - start_) : std::string_view();
    StepEnd end{.seconds = event.seconds, .step = {}, .stopped_by = agree(event, stop)};
    end.step = event;
    parts_.observer.step_ended(event, use);
    throw_if_diverged(event, report.exhausted, options_.cure);
    skipped_ += event.skipped ? 1 : 0;
    return end;
  }

  /// Where samples are read meanwhile, the ranks meet until each has its own: one whose shard comes late is waited for
  /// here, and not in the first collective of the step, whose deadline is that of a rank that is lost.
  void await_samples(StepUse& use) {
    ReadAhead* samples = parts_.task.read_ahead();
    if (samples == nullptr) {
      return;
    }
    parts_.meter.measure_ahead("data", use.data, [&] {
      const double late = samples->is_ready(step_) ? 0 : 1;
      if (sum({late}, "ranks without the step's samples")[0] > 0) {
        do_on_all_ranks(parts_.world, parts_.device, fmt::format("read the samples of step {}", step_),
                        [&] { samples->await(step_); });
      }
    });
  }

  StepReport train(job::Step& event, StepUse& use) {
    StepReport report;
    event.loss_scale = parts_.updater.loss_scale();
    const TaskStep made = parts_.task.train(step_, parts_.updater, parts_.meter, use, event);
    if (made.updates && parts_.before_update) {
      parts_.before_update();
    }
    if (made.updates) {
      parts_.meter.measure_ahead("optimizer step", use.optimizer,
                                 [&] { parts_.updater.step(event.learning_rate, options_.max_grad_norm); });
    }
    // Until here the host has waited for nothing: the device goes through the step without a gap.
    parts_.meter.settle();
    if (made.updates) {
      report = parts_.updater.report();
    }
    event.loss = sum_on_host(made.losses) / made.divisor;
    event.grad_norm = report.gradient_norm;
    event.skipped = report.skipped;
    return report;
  }

  /// Makes of `event` what all ranks saw of the step together: its loss and its counts. Returns what the first rank
  /// says of the end, since clocks differ: its `stop`.
  std::string agree(job::Step& event, std::string_view stop) {
    const std::array<int64_t*, 5> counts = {&event.samples, &event.real_tokens, &event.padded_tokens,
                                            &event.supervised_tokens, &event.forward_only};
    const bool first = parts_.world == nullptr || parts_.world->rank() == 0;
    const auto place = static_cast<double>(std::ranges::find(kStopCauses, stop) - kStopCauses.begin());
    std::vector<double> values = {event.loss, first ? place : 0.0};
    std::ranges::transform(counts, std::back_inserter(values),
                           [](const int64_t* n) { return static_cast<double>(*n); });
    values = sum(values, "loss of the step");
    event.loss = values[0];
    for (size_t i = 0; i < counts.size(); ++i) {
      *counts[i] = static_cast<int64_t>(values[i + 2]);
    }
    return std::string(kStopCauses.at(static_cast<size_t>(values[1])));
  }

  const LoopOptions& options_;
  const LoopParts& parts_;
  const double start_ = MonotonicSeconds();
  LoopResult result_;
  int64_t step_;     ///< of all, warm-up included
  int64_t skipped_;  ///< of them
};

}  // namespace

std::vector<double> sum_over_ranks(Communicator* world, c10::Device device, const std::vector<double>& values,
                                   std::string_view label) {
  if (world == nullptr || world->size() == 1) {
    return values;
  }
  const at::Tensor buffer = at::tensor(values, at::kDouble).to(device);
  world->all_reduce(buffer, ReduceOp::kSum, label)->wait();
  const at::Tensor host = buffer.to(at::kCPU);
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

LoopResult run_loop(const LoopOptions& options, const LoopParts& parts) {
  return Loop(options, parts).run();
}

}  // namespace assay::engine
