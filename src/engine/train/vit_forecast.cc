#include "engine/train/vit_forecast.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engine/comm/local_communicator.h"
#include "engine/comm/shm/collectives.h"
#include "engine/kernels/ceilings.h"
#include "engine/kernels/shape_memory.h"
#include "engine/model/load_image_classifier.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/pipeline_schedule.h"
#include "engine/shard/shard_engine.h"
#include "engine/train/rank_topology.h"
#include "engine/train/strategy.h"
#include "engine/train/vit_parts.h"
#include "engine/train/vit_session.h"

namespace assay::engine {
namespace {

job::MemoryLedger predicted(job::MemoryLedger event, int64_t rank, const char* phase) {
  event.rank = rank;
  event.phase = phase;
  event.source = "predicted";
  return event;
}

/// The part of the model that `rank` has, as shapes alone.
LoadedImageClassifier shapes_of_rank(const job::VitPlan& plan, int64_t model_rank) {
  ImageClassifierOptions options{
      .compute_dtype = compute_dtype_of(plan), .device = c10::kMeta, .seed = plan.seed, .labels = {}};
  take_part(place_of(plan, model_rank), read_vit_config(plan.model_dir), options);
  return load_image_classifier(plan.model_dir, options);
}

/// What neither ledger nor activations count: the images of a micro-batch; messages between stages and sums over tensor
/// ranks, each as large as the residual stream; and the float32 copies of the largest 16-bit product, where the CPU has
/// none of its own.
int64_t bytes_beside_engine(const job::VitPlan& plan, const Vit& model, const StrategyGroups& groups, bool on_cpu) {
  const VitConfig& config = model.config();
  const int64_t images = plan.batch_size / job::MicroBatches(plan);
  const int64_t pixels = config.num_channels * config.image_size * config.image_size;
  const auto element = static_cast<int64_t>(c10::elementSize(model.residual_dtype()));
  const int64_t stream = images * config.tokens() * config.hidden_size * element;
  int64_t bytes = model.begins_model() ? images * pixels * static_cast<int64_t>(sizeof(float)) : 0;
  bytes += groups.stages() > 1 ? (groups.stages() + 1) * stream : 0;  // sent but not taken, and one received
  bytes += groups.tensor_ranks() > 1 ? stream : 0;
  if (on_cpu && products_through_float32(compute_dtype_of(plan))) {
    const int64_t wide = config.intermediate_size / groups.tensor_ranks();
    bytes += float32_copy_bytes(images * config.tokens(), config.hidden_size, wide);
  }
  return bytes;
}

/// Ranks as shapes, and what their collectives take on a CPU beside their buffers.
class ShapedRanks {
 public:
  ShapedRanks(const job::VitPlan& plan, const ShardPolicy& policy, int64_t rank, int64_t local_ranks, bool on_cpu)
      : on_cpu_(on_cpu),
        world_(make_fake_communicator(options(plan, rank, local_ranks, on_cpu))),
        groups_(plan, policy, *world_, local_ranks) {}

  const StrategyGroups& groups() const { return groups_; }

  /// Where ranks share memory, they tell each other of new groups through a tile, a private buffer.
  int64_t bytes_at_start() const { return (groups_.splits_world() ? tile_bytes(*world_) : 0) + kept_bytes(); }

  /// After a step was gone through: a tile of each group that figures (losses, norms) go over, and what goes from
  /// machine to machine.
  int64_t bytes_of_steps() const {
    int64_t bytes = kept_bytes();
    const ShardGroups groups = groups_.groups();
    for (const Communicator* group :
         std::set<const Communicator*>{world_.get(), groups.shard, groups.replicate, groups.model}) {
      bytes += group == nullptr ? 0 : tile_bytes(*group);
    }
    return bytes;
  }

 private:
  static FakeOptions options(const job::VitPlan& plan, int64_t rank, int64_t local_ranks, bool on_cpu) {
    FakeOptions ranks{
        .rank = static_cast<int>(rank), .size = static_cast<int>(plan.number_ranks), .device = c10::kMeta};
    for (int64_t each = 0; on_cpu && each < plan.number_ranks; ++each) {
      ranks.machine_of.push_back(static_cast<int>(each / local_ranks));
    }
    return ranks;
  }

  int64_t tile_bytes(const Communicator& group) const {
    return on_cpu_ && ranks_on_own_machine(group) > 1 ? kShmStagingBytes : 0;
  }

  int64_t kept_bytes() const {
    int64_t bytes = 0;
    for (const auto& [name, group] : groups_.named()) {
      bytes += scratch_bytes_of(*group);
    }
    return bytes;
  }

  bool on_cpu_;
  ShapeMemory counted_;  // first of what is made: the groups' buffers are counted
  std::unique_ptr<Communicator> world_;
  StrategyGroups groups_;
};

/// What is held when a step needs most, and the activations that are there then.
struct MostHeld {
  MemoryByKind bytes{};
  int64_t activations = 0;

  int64_t total(bool on_cpu) const { return total_bytes(bytes, on_cpu) + activations; }
};

/// Of a rehearsed step: either the engine's own peak, which may come while a layer is at work, or backward at one of
/// its units, with the activations of the layers that it has not come to yet.
MostHeld most_held(ShardEngine& engine, const Vit& model, int64_t kept_bytes, bool no_sync, bool on_cpu) {
  engine.ledger().reset_peak();
  const std::vector<MemoryByKind> by_unit = engine.rehearse_step(no_sync);
  MostHeld most{.bytes = engine.ledger().peak(on_cpu).by_kind};
  const int64_t first = model.begins_model() ? 1 : 0;
  for (int64_t unit = 0; unit < static_cast<int64_t>(by_unit.size()); ++unit) {
    const int64_t layers = std::clamp<int64_t>(unit - first, 0, model.num_layers());
    const MostHeld here{by_unit[unit], kept_bytes * layers / model.num_layers()};
    most = here.total(on_cpu) >= most.total(on_cpu) ? here : most;
  }
  return most;
}

/// The peaks of initialisation and of a steady step of the world's rank `rank`.
std::vector<job::MemoryLedger> forecast_rank(const job::VitPlan& plan, int64_t rank, int64_t local_ranks, bool on_cpu) {
  ShardPolicy policy = policy_of(plan);
  if (on_cpu) {
    policy.yielding_optim_frac = 0;  // as the engine has it on a CPU
  }
  const ShapedRanks ranks(plan, policy, rank, local_ranks, on_cpu);
  const StrategyGroups& groups = ranks.groups();
  const int64_t init_scratch = ranks.bytes_at_start();
  const LoadedImageClassifier loaded = shapes_of_rank(plan, groups.model_rank());
  const auto tensor = join_tensor_ranks(plan, groups, *loaded.model);
  Shardable& units = tensor == nullptr ? static_cast<Shardable&>(*loaded.model) : *tensor;
  ShardEngine engine(units, policy, groups.groups(), OptimizerOptions{});
  const MemoryByKind start = engine.ledger().peak(on_cpu).by_kind;
  engine.rehearse_step(reduces_once(plan));
  const ActivationNeed need = activation_need(plan, *loaded.model, layers_to_checkpoint(plan, *loaded.model));
  const MostHeld most = most_held(engine, *loaded.model, need.kept_bytes, reduces_once(plan), on_cpu);
  const int64_t peak = most.total(on_cpu) + need.working_bytes + ranks.bytes_of_steps() +
                       bytes_beside_engine(plan, *loaded.model, groups, on_cpu);
  const job::MemoryLedger steady = ledger_event(most.bytes, most.activations, peak, on_cpu);
  const int64_t init_peak = total_bytes(start, on_cpu) + init_scratch;
  return {predicted(ledger_event(start, 0, init_peak, on_cpu), rank, "init"), predicted(steady, rank, "steady")};
}

}  // namespace

ActivationCost activation_cost_in_flight(const job::VitPlan& plan, const Vit& model) {
  const int64_t micro_batches = job::MicroBatches(plan);
  // The stage follows from the layers: stages have at least one each.
  int64_t stage = 0;
  while (layers_of_stage(model.config().num_layers, stage, plan.knobs.pp_size).first < model.first_layer()) {
    ++stage;
  }
  const int64_t held = micro_batches_in_flight(stage, plan.knobs.pp_size, micro_batches);
  ActivationCost cost = model.activation_cost(plan.batch_size / micro_batches).in_flight(held);
  if (!model.ends_model()) {
    // What is handed on to the next stage stays until its gradient comes.
    const auto element = static_cast<int64_t>(c10::elementSize(model.residual_dtype()));
    const VitConfig& config = model.config();
    cost.loss_bytes = held * plan.batch_size / micro_batches * config.tokens() * config.hidden_size * element;
  }
  return cost;
}

ActivationNeed activation_need(const job::VitPlan& plan, const Vit& model, int64_t checkpointed_layers) {
  const ActivationCost cost = activation_cost_in_flight(plan, model);
  const bool checkpoints = checkpointed_layers > 0;
  int64_t whole_layers = cost.layers() - checkpointed_layers;
  if (model.ends_model()) {
    // The last layer goes on with class tokens alone: when the one before it is at work, nothing of it is left.
    --(whole_layers > 0 ? whole_layers : checkpointed_layers);
  }
  ActivationNeed need;
  need.kept_bytes = whole_layers * cost.layer_bytes.front() + checkpointed_layers * cost.checkpointed_layer_bytes;
  // A checkpointed layer is made again as a whole, for one micro-batch.
  const int64_t made_again = model.activation_cost(plan.batch_size / job::MicroBatches(plan)).layer_bytes.front();
  need.working_bytes = cost.working_bytes + (checkpoints ? made_again : 0) + cost.loss_bytes;
  return need;
}

std::vector<job::MemoryLedger> forecast_memory(const job::VitPlan& plan, int64_t local_ranks, bool on_cpu) {
  check_divides(plan, read_vit_config(plan.model_dir));
  std::vector<job::MemoryLedger> highest;
  for (int64_t stage = 0; stage < plan.knobs.pp_size; ++stage) {
    // The first tensor rank of a stage has the biases that the others have not.
    std::vector<job::MemoryLedger> events = forecast_rank(plan, stage * plan.knobs.tp_size, local_ranks, on_cpu);
    if (highest.empty() || events.back().peak_bytes > highest.back().peak_bytes) {
      highest = std::move(events);
    }
  }
  return highest;
}

}  // namespace assay::engine
