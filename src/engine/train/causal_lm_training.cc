#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/text.h"
#include "engine/adapter/trainable.h"
#include "engine/model/load.h"
#include "engine/model/quantized_layers.h"
#include "engine/model/status_error.h"
#include "engine/train/causal_lm_session.h"
#include "engine/train/causal_lm_task.h"
#include "engine/train/device.h"
#include "engine/train/model_parts.h"
#include "engine/train/rank_topology.h"
#include "engine/train/strategy.h"
#include "engine/train/text_generation.h"
#include "engine/train/training.h"

namespace assay::engine {
namespace {

Schedule schedule_of(const job::TunePlan& plan, int64_t steps) {
  return value_or_throw(Schedule::create(plan.lr_scheduler_type, plan.learning_rate, plan.warmup_ratio, steps));
}

std::unique_ptr<Updater> updater_of(const job::TunePlan& plan, CausalLmSession& session) {
  if (session.engine == nullptr) {
    return make_local_updater(*session.optimizer, session.trainable, session.scaler ? &*session.scaler : nullptr);
  }
  return make_sharded_updater(*session.engine, session.groups->data_ranks(), reduces_once(plan));
}

bool counts(const CausalLmSession& session) {
  return session.groups == nullptr || session.groups->counts(session.model->ends_model());
}

/// With how many products are quantised where a checkpoint leaves some as they were.
std::string weights_of(const CausalLmSession& session, const job::TunePlan& plan) {
  const int64_t stored_bits = session.model->config().quantization.bits;
  const std::string weights = job::DescribeWeights(!session.random_weights, stored_bits, plan);
  const auto products = std::ssize(session.model->linears());
  const int64_t quantized = stored_bits > 0 ? count_quantized(*session.model) : products;
  return quantized == products ? weights : fmt::format("{} in {} of {} products", weights, quantized, products);
}

class CausalLmTraining : public Training {
 public:
  CausalLmTraining(const job::TunePlan& plan, CausalLmSession session, c10::Device device, EventWriter& events)
      : plan_(plan),
        device_(device),
        session_(std::move(session)),
        task_({.model = *session_.model,
               .pipeline = *session_.pipeline,
               .batches = *session_.batches,
               .held_out = session_.held_out ? &*session_.held_out : nullptr,
               .eval_every = plan.eval_every,
               .world = session_.world.get(),
               .device = device,
               .counts = counts(session_),
               .events = events}),
        updater_(updater_of(plan, session_)),
        schedule_(schedule_of(plan, session_.planned_steps)) {}

  Task& task() override { return task_; }
  Updater& updater() override { return *updater_; }
  const Schedule& schedule() const override { return schedule_; }
  StopOptions stop_options() const override {
    return {.last_step = session_.planned_steps,
            .last_step_is_max_steps = plan_.max_steps >= 0,
            .stop_after_seconds = plan_.stop_after_seconds,
            .auto_stop_method = plan_.auto_stop_method,
            .early_stopping = plan_.early_stopping};
  }
  LoopOptions loop_options() const override {
    return {.max_grad_norm = plan_.max_grad_norm, .cure = "bfloat16 or float32"};
  }
  const StrategyGroups* groups() const override { return session_.groups.get(); }

  job::Loaded loaded() const override {
    return {.model_type = session_.model->model_type(),
            .weights = weights_of(session_, plan_),
            .parameters = session_.parameters,
            .trainable_parameters = session_.trainable_parameters,
            .rows = session_.batches->row_count(),
            .planned_steps = session_.planned_steps,
            .layers = session_.checkpointing.layers,
            .checkpointed_layers = session_.checkpointing.checkpointed_layers,
            .step_bytes = session_.checkpointing.step_bytes,
            .available_bytes = session_.checkpointing.available_bytes};
  }

  job::Topology topology() override {
    job::Topology topology = topology_of(*session_.groups, session_.model->units());
    topology.plugin = plan_.plugin;
    topology.precision = plan_.dtype;
    return topology;
  }

  ShardEngine* engine() override { return session_.engine.get(); }
  int64_t activation_bytes() override { return session_.checkpointing.kept_bytes; }

  std::optional<job::DataUse> data_use() override { return session_.batches->data_use(); }

  std::vector<HeldState> held() override {
    return session_.engine == nullptr
               ? held_by(*session_.optimizer)
               : held_by(*session_.engine, held_part(plan_, *session_.groups, session_.model->split_rules(),
                                                     session_.model->begins_model()));
  }
  void publish_masters() override {
    session_.engine == nullptr ? session_.optimizer->publish_masters() : session_.engine->publish_masters();
  }
  LossScaler* loss_scaler() override {
    if (!loss_scale_of(plan_) || value_or_throw(job::LossScale(plan_.loss_scale)) != job::kAutoLossScale) {
      return nullptr;
    }
    return session_.engine != nullptr ? &session_.engine->loss_scaler() : session_.scaler ? &*session_.scaler : nullptr;
  }
  OptimizerOptions optimizer_options() const override { return {.weight_decay = plan_.weight_decay}; }

  void write_sample(const char* when, EventWriter& events) override {
    if (!plan_.sample.prompt_ids.empty()) {
      generate_text(*session_.model, plan_.sample, device_,
                    [&](int64_t id) { events.write(job::Generated{.when = when, .id = id}); });
    }
  }

  void save() override {
    std::vector<NamedTensor> weights =
        session_.engine == nullptr ? trainable_parameters(*session_.model) : weights_of_ranks();
    if (session_.world != nullptr && session_.world->rank() > 0) {
      return;
    }
    if (has_adapter(session_.adapter)) {
      save_adapter(*session_.model, session_.adapter, weights, plan_.output_dir);
      return;
    }
    save_model(*session_.model, std::move(weights), plan_.output_dir, plan_.max_shard_mib << 20);
  }

 private:
  /// All that was trained, on the first rank, as it is saved: adapters as the optimiser has them.
  std::vector<NamedTensor> weights_of_ranks() {
    const auto dtype = has_adapter(session_.adapter) ? std::nullopt : std::optional(parse_dtype(plan_.dtype));
    return gather_weights(*session_.engine, *session_.groups, session_.model->split_rules(), WeightKinds::kTrainable,
                          dtype);
  }

  const job::TunePlan& plan_;
  c10::Device device_;
  CausalLmSession session_;
  CausalLmTask task_;
  std::unique_ptr<Updater> updater_;
  Schedule schedule_;
};

}  // namespace

std::unique_ptr<Training> load_training(const job::TunePlan& plan, const RankEnvironment& environment,
                                        c10::Device device, EventWriter& events) {
  return std::make_unique<CausalLmTraining>(plan, load_causal_lm_session(plan, environment, device, events), device,
                                            events);
}

}  // namespace assay::engine
