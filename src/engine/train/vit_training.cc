#include <cstdio>
#include <utility>

#include "engine/kernels/memory.h"
#include "engine/model/status_error.h"
#include "engine/train/model_parts.h"
#include "engine/train/rank_topology.h"
#include "engine/train/training.h"
#include "engine/train/vit_forecast.h"
#include "engine/train/vit_session.h"
#include "engine/train/vit_task.h"

namespace assay::engine {
namespace {

/// ColossalAI's cosine, whose warm-up begins with a rate.
Schedule schedule_of(const job::VitPlan& plan, int64_t steps) {
  const char* name = plan.lr_scheduler_type == "cosine" ? "cosine_annealing_warmup" : plan.lr_scheduler_type.c_str();
  return value_or_throw(Schedule::create(name, plan.learning_rate, plan.warmup_ratio, steps));
}

class VitTraining : public Training {
 public:
  VitTraining(const job::VitPlan& plan, VitSession session, EventWriter& events, c10::Device device)
      : plan_(plan),
        device_(device),
        session_(std::move(session)),
        task_(plan, session_, events, device),
        updater_(make_sharded_updater(*session_.engine, session_.groups->data_ranks(), reduces_once(plan))),
        schedule_(schedule_of(plan, session_.planned_steps)) {}

  Task& task() override { return task_; }
  Updater& updater() override { return *updater_; }
  const Schedule& schedule() const override { return schedule_; }
  StopOptions stop_options() const override {
    return {.last_step = session_.planned_steps,
            .last_step_is_max_steps = plan_.max_steps > 0,
            .stop_after_seconds = plan_.stop_after_seconds};
  }
  LoopOptions loop_options() const override {
    return {.max_grad_norm = plan_.max_grad_norm,
            .schedule_waits = false,
            .warms_up = plan_.protocol == "fair",
            .max_warmup_steps = plan_.max_warmup_steps,
            .cure = plan_.precision == "fp32" ? "" : "precision fp32"};
  }
  const StrategyGroups* groups() const override { return session_.groups.get(); }

  job::Loaded loaded() const override {
    const VitConfig& config = session_.loaded.model->config();
    return {.model_type = config.model_type,
            .weights = session_.loaded.random_weights ? "random" : "file",
            .parameters = session_.parameters,
            .trainable_parameters = session_.parameters,
            .rows = session_.batches->images(),
            .planned_steps = session_.planned_steps,
            .layers = config.num_layers,
            .checkpointed_layers = session_.checkpointed_layers};
  }

  job::Topology topology() override {
    job::Topology topology = topology_of(*session_.groups, session_.model().units());
    topology.plugin = plan_.plugin;
    topology.precision = plan_.precision;
    return topology;
  }

  ShardEngine* engine() override { return session_.engine.get(); }
  int64_t activation_bytes() override {
    return activation_need(plan_, session_.model(), session_.checkpointed_layers).kept_bytes;
  }
  std::vector<job::MemoryLedger> foretold_memory(int64_t local_ranks) override {
    return forecast_memory(plan_, local_ranks, device_.is_cpu());
  }

  std::optional<job::DataUse> data_use() override { return session_.batches->data_use(); }

  std::vector<HeldState> held() override {
    return held_by(*session_.engine,
                   held_part(plan_, *session_.groups, session_.model().split_rules(), session_.model().begins_model()));
  }
  void publish_masters() override { session_.engine->publish_masters(); }
  LossScaler* loss_scaler() override { return policy_of(plan_).scale_loss ? &session_.engine->loss_scaler() : nullptr; }
  OptimizerOptions optimizer_options() const override { return {.weight_decay = plan_.weight_decay}; }

  void save() override {
    const std::vector<NamedTensor> weights =
        gather_weights(*session_.engine, *session_.groups, session_.model().split_rules());
    if (session_.world->rank() == 0) {
      save_image_classifier(session_.model(), weights, plan_.output_dir, plan_.max_shard_mib << 20);
    }
  }

 private:
  const job::VitPlan& plan_;
  c10::Device device_;
  VitSession session_;
  VitTask task_;
  std::unique_ptr<Updater> updater_;
  Schedule schedule_;
};

}  // namespace

std::unique_ptr<Training> load_training(const job::VitPlan& plan, const RankEnvironment& environment,
                                        c10::Device device, EventWriter& events) {
  if (plan.memory_budget_bytes > 0) {
    SetMemoryBudget(plan.memory_budget_bytes, device);
  }
  VitSession session = load_vit_session(plan, environment, device);
  if (session.world->rank() == 0 && !session.loaded.new_head.empty()) {
    std::fprintf(stderr, "assay-worker: %s\n", session.loaded.new_head.c_str());
  }
  return std::make_unique<VitTraining>(plan, std::move(session), events, device);
}

}  // namespace assay::engine
