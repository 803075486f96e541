// Trains one model over the ranks of a group by the rules of a ShardPolicy: every parallel strategy is this engine.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/unit.h"
#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/gradient_buckets.h"
#include "engine/shard/gradient_reducer.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/shard_unit.h"
#include "engine/shard/sharded_adamw.h"
#include "engine/shard/unit_boundary.h"
#include "engine/shard/weight_schedule.h"

namespace assay::engine {

/// What came of a step.
struct StepReport {
  double gradient_norm = 0;  ///< over all parameters, before clipping, loss scale taken out
  bool skipped = false;      ///< that was not finite: nothing was updated
  bool exhausted = false;    ///< and no loss scale can cure it
  double loss_scale = 1;     ///< that the step's losses had
};

/// From construction on the model's parameters belong to the engine: they are views of flat buffers and, depending on
/// the policy, only usable inside the hooks, which the model calls by itself. Each unit's forward runs once in a
/// forward pass, and again in backward when it is checkpointed. All ranks make the same calls in the same order. The
/// thread that constructs it uses it, except that on CUDA autograd's thread runs the hooks.
///
///   ShardEngine engine(model, policy, groups, options);
///   for each micro-batch: engine.backward(model.loss(...), last);
///   engine.step(learning_rate, max_norm);
class ShardEngine : private UnitHooks, private UnitEvents {
 public:
  /// Gives all ranks the weights of rank 0, or of the first that holds them (experts), but for frozen ones that the
  /// policy keeps whole: they stay as each rank has them. `model` and the groups outlive
  /// the engine; the model is of no use after it. Throws std::invalid_argument for settings that do not fit together or
  /// to the groups. `probe` tells the bytes of tensors alive on the device, for WeightPlacement::kBudget;
  /// LiveTensorBytes() unless given, and on "meta" parameters those of the engine alone. On a CPU no states move to
  /// host memory, which is the device's own, unless `probe` tells of the device apart from it.
  ShardEngine(Shardable& model, const ShardPolicy& policy, const ShardGroups& groups, const OptimizerOptions& options,
              WeightBudget::Probe probe = {});
  ~ShardEngine() override;
  ShardEngine(const ShardEngine&) = delete;
  ShardEngine& operator=(const ShardEngine&) = delete;

  /// Runs backward from `loss`, a scalar, the mean over this rank's part of the batch: gradients become the average
  /// over all ranks, and add up over the backwards before a step(). `last` of the micro-batches of a step: others may
  /// put their reduction off, and always do so with `no_sync`.
  void backward(const at::Tensor& loss, bool last = true, bool no_sync = false);
  /// The same from any output of a part of the model, whose `gradient` came from the rank with the part after it, loss
  /// scale included.
  void backward_from(const at::Tensor& output, const at::Tensor& gradient, bool last = true, bool no_sync = false);

  /// One update by the gradients since the last one. Does not wait for a device unless asked for (overflow, loss
  /// scales and norms are read when they are needed: see last_step()).
  void step(double learning_rate, double max_norm = 0);

  /// Goes through all that a step does with memory and collectives, without computing anything: on "meta" parameters
  /// and a fake group, the ledger's peak is then the one of real steps. A policy with several_backwards goes through
  /// two, since the third is as the second. Returns what the ledger holds in the last backward when the gradients of
  /// each unit of the model have come, beside the activations of those before it, and at last when backward begins.
  std::vector<MemoryByKind> rehearse_step(bool no_sync = false);

  /// The end of a step that was gone through on "meta" parameters, by backwards of the model itself: step() without an
  /// update.
  void rehearse_update() { step_over(); }

  /// Waits for the last step().
  const StepReport& last_step();

  /// Trainable parameters that got no gradient on this rank before the last step(), in the model's order.
  const std::vector<std::string>& unused_parameters() const { return unused_; }

  MemoryLedger& ledger() { return context_.ledger; }
  const ShardContext& context() const { return context_; }
  const std::vector<std::unique_ptr<ShardUnit>>& units() const { return units_; }
  ShardedAdamw& optimizer() { return *optimizer_; }
  LossScaler& loss_scaler() { return scaler_; }
  /// After masters were written from outside (a loaded checkpoint).
  void publish_masters();

 private:
  at::Tensor before_forward(int64_t unit, const at::Tensor& input, bool again) override;
  at::Tensor after_forward(int64_t unit, const at::Tensor& output, bool again) override;
  void backward_enters(int64_t unit) override;
  void backward_leaves(int64_t unit) override;
  void gradient_ready(int64_t unit, size_t group, size_t parameter, const at::Tensor& gradient) override;

  void set_allocators(c10::Device device);
  /// Where a trainable parameter is among units_.
  struct TrainableLeaf {
    int64_t unit = 0;
    size_t group = 0;
    size_t parameter = 0;
  };

  void make_units(const std::vector<ParameterUnit>& units);
  void find_leaves(const std::vector<ParameterUnit>& units);
  void watch_gradients();
  void begin_backward(bool last, bool no_sync);
  void finish_backward();
  void rehearse_forward();
  std::vector<MemoryByKind> rehearse_backward(bool last, bool no_sync);
  void sum_shared_gradients();
  void step_over();
  std::vector<bool> used_parameters();
  at::Tensor own_stats(bool experts) const;
  at::Tensor stats_over_ranks(std::vector<bool>& used);
  at::Tensor stats_over_data_ranks(bool experts, std::vector<bool>& used);
  std::vector<size_t> places_in_used(bool experts) const;
  void check_same_use(const std::vector<bool>& used);
  void resolve_step();

  ShardContext context_;
  Shardable& model_;
  std::vector<std::unique_ptr<ShardUnit>> units_;
  std::vector<std::vector<int64_t>> reads_;            ///< by unit of the model: see StoredUnits
  std::vector<std::vector<TrainableLeaf>> leaves_of_;  ///< by unit of the model
  std::unique_ptr<WeightSchedule> schedule_;
  std::unique_ptr<GradientReducer> reducer_;
  std::unique_ptr<ShardedAdamw> optimizer_;
  LossScaler scaler_;
  bool reduces_ = true;  ///< the backward under way is one that reduces
  std::vector<std::string> unused_;
  at::Tensor pending_stats_;  ///< of a step whose outcome was not read yet
  at::Tensor pending_use_;    ///< {h, -h}: the largest over all ranks of a hash of which parameters were used
  StepReport report_;
};

}  // namespace assay::engine
