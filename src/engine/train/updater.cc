#include "engine/train/updater.h"

#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "engine/kernels/gradient_rule.h"

namespace assay::engine {
namespace {

at::Tensor scalar_like(double value, const at::Tensor& tensor) {
  return at::scalar_tensor(value, tensor.options());
}

class LocalUpdater : public Updater {
 public:
  LocalUpdater(Optimizer& optimizer, const std::vector<at::Tensor>& trainable, LossScaler* scaler)
      : optimizer_(optimizer), trainable_(trainable), scaler_(scaler) {}

  double loss_scale() override { return scaler_ == nullptr ? 1.0 : scaler_->scale(); }
  int64_t data_ranks() const override { return 1; }
  bool takes_every_batch() const override { return false; }

  void backward(const at::Tensor& loss, double gradient, bool) override {
    torch::autograd::backward({loss}, {scalar_like(gradient, loss)});
  }

  void backward_from(const at::Tensor& output, const at::Tensor& gradient, bool) override {
    torch::autograd::backward({output}, {gradient});
  }

  void step(double learning_rate, double max_norm) override {
    stats_ = gradient_stats(gradients());
    optimizer_.step(learning_rate,
                    {.scale = 1.0 / loss_scale(), .max_norm = max_norm, .skip_non_finite = true, .stats = stats_});
    for (const at::Tensor& parameter : trainable_) {
      parameter.mutable_grad().reset();
    }
  }

  StepReport report() override {
    StepReport report{.loss_scale = loss_scale()};
    const at::Tensor stats = std::exchange(stats_, {}).cpu();
    report.gradient_norm = gradient_norm(stats, 1.0 / report.loss_scale);
    if (scaler_ != nullptr) {
      report.skipped = has_non_finite(stats);
      scaler_->update(report.skipped);
      report.exhausted = scaler_->exhausted();
      if (report.skipped) {
        optimizer_.forget_last_step();
      }
    }
    return report;
  }

 private:
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : trainable_) {
      if (parameter.grad().defined()) {
        gradients.push_back(parameter.grad());
      }
    }
    return gradients;
  }

  Optimizer& optimizer_;
  const std::vector<at::Tensor>& trainable_;
  LossScaler* scaler_;
  at::Tensor stats_;  ///< of the gradients of the last step(), until its report
};

class ShardedUpdater : public Updater {
 public:
  ShardedUpdater(ShardEngine& engine, int64_t data_ranks, bool no_sync)
      : engine_(engine), data_ranks_(data_ranks), no_sync_(no_sync) {}

  double loss_scale() override { return scales() ? engine_.loss_scaler().scale() : 1.0; }
  int64_t data_ranks() const override { return data_ranks_; }
  bool takes_every_batch() const override { return true; }

  void backward(const at::Tensor& loss, double gradient, bool last) override {
    // The engine averages over the ranks.
    engine_.backward_from(loss, scalar_like(gradient * static_cast<double>(data_ranks_), loss), last, no_sync_);
  }

  void backward_from(const at::Tensor& output, const at::Tensor& gradient, bool last) override {
    engine_.backward_from(output, gradient, last, no_sync_);
  }

  void step(double learning_rate, double max_norm) override { engine_.step(learning_rate, max_norm); }

  StepReport report() override {
    StepReport report = engine_.last_step();
    report.skipped = report.skipped && scales();
    return report;
  }

  void reset_peak() override { engine_.ledger().reset_peak(); }

 private:
  bool scales() const { return engine_.context().policy.scale_loss; }

  ShardEngine& engine_;
  int64_t data_ranks_;
  bool no_sync_;
};

}  // namespace

std::unique_ptr<Updater> make_local_updater(Optimizer& optimizer, const std::vector<at::Tensor>& trainable,
                                            LossScaler* scaler) {
  return std::make_unique<LocalUpdater>(optimizer, trainable, scaler);
}

std::unique_ptr<Updater> make_sharded_updater(ShardEngine& engine, int64_t data_ranks, bool no_sync) {
  return std::make_unique<ShardedUpdater>(engine, data_ranks, no_sync);
}

}  // namespace assay::engine
