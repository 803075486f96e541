#include "engine/train/causal_lm_forecast.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "architecture/model_config.h"
#include "engine/adapter/adapter.h"
#include "engine/adapter/trainable.h"
#include "engine/checkpoint/held_state.h"
#include "engine/checkpoint/snapshot.h"
#include "engine/comm/local_communicator.h"
#include "engine/comm/shm/collectives.h"
#include "engine/kernels/shape_memory.h"
#include "engine/model/decoder.h"
#include "engine/model/quantized_layers.h"
#include "engine/model/status_error.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/pipeline_schedule.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/tensor_parallel.h"
#include "engine/train/causal_lm_session.h"
#include "engine/train/device.h"
#include "engine/train/machine_parameters.h"
#include "engine/train/model_parts.h"
#include "engine/train/parameter_shapes.h"
#include "engine/train/rank_topology.h"
#include "engine/train/run_checkpoints.h"
#include "engine/train/strategy.h"
#include "engine/train/updater.h"

namespace assay::engine {
namespace {

constexpr int64_t kSteps = 2;  // of which the first may find less than the others

/// The indices of a batch where a step on shapes wants them: what is read on the CPU, what indexes tensors beside them.
PackedBatch beside_shapes(const PackedBatch& batch) {
  PackedBatch moved = batch;
  moved.draw_keys_T = at::empty_like(batch.positions_T, at::kMeta);
  moved.supervised_positions_S = at::empty_like(batch.supervised_positions_S, at::kMeta);
  moved.prompt_places = at::empty_like(batch.prompt_places, at::kMeta);
  return moved;
}

int64_t index_bytes(const PackedBatch& batch) {
  return static_cast<int64_t>(batch.ids_T.nbytes() + batch.positions_T.nbytes() + batch.draw_keys_T.nbytes() +
                              batch.supervised_positions_S.nbytes() + batch.supervised_targets_S.nbytes() +
                              batch.prompt_places.nbytes());
}

/// What ranks that have the same stage take at their peaks.
struct StageTensors {
  int64_t each = 0;
  int64_t first = 0;          ///< beyond, of the first one, which gets the parts of the others to save them
  int64_t copies = 0;         ///< beyond, of the others that copy what they have, and gather it
  int64_t gathered = 0;       ///< beyond, of those that take part in that
  int64_t keeping_ranks = 1;  ///< so many of the first ones, it among them, copy

  int64_t of_ranks(int64_t ranks) const {
    const int64_t keep = std::min(keeping_ranks, ranks) - 1;
    return ranks == 0 ? 0 : ranks * each + first + keep * copies + (ranks - 1 - keep) * gathered;
  }
};

struct StagePhase {
  job::MemoryLedger ledger = {};  ///< of the stage's first rank
  StageTensors tensors;
  int64_t mapped_bytes = 0;  ///< on the machine
  int64_t copy_bytes = 0;    ///< of the ledger's peak, what checkpoints are written from
};
using StageForecast = std::vector<StagePhase>;

/// The first rank of a stage of a plan, as shapes.
class Rehearsal {
 public:
  Rehearsal(const job::TunePlan& plan, const PackedBatch& largest, int64_t stage, const RunExtent& extent)
      : plan_(plan), stage_(stage), extent_(extent), batch_(beside_shapes(largest)) {
    const bool over_ranks = job::IsOverRanks(plan);
    if (over_ranks) {
      join_nobody();
    }
    make_model(over_ranks ? place_of(plan, groups_->model_rank()) : PartPlace{});
    over_ranks ? make_engine() : make_optimizer_alone();
    const int64_t tensors = memory_.peak_bytes() + staging_bytes(/*of_steps=*/false);
    add_phase("init", held(), 0, {.each = tensors}, loading_bytes_);
  }

  StageForecast go_through(int64_t checkpointed_layers) {
    model_->set_checkpointed_layers(checkpointed_layers);
    for (int64_t step = 1; step <= kSteps; ++step) {
      memory_.reset_peak();
      reset_held();
      go_through_step();
    }
    const int64_t beside = staging_bytes(/*of_steps=*/true) + micro_batches() * index_bytes(batch_) + packed_bytes_;
    const int64_t tensors = memory_.peak_bytes() + beside;
    const int64_t mapped = mapped_.machine_bytes(extent_.groups);
    const StageTensors copies = checkpoint_copies();
    add_phase("steady", held(), kept_bytes_, {.each = tensors}, mapped, copies);
    if (engine_ != nullptr && plan_.save != "none") {
      StageTensors saving = bytes_to_save();
      saving.each = memory_.live_bytes() + beside;
      add_phase("save", held_between_steps(), 0, saving, mapped, copies);
    }
    return forecast_;
  }

  /// What the first stage receives of this one to save it.
  int64_t sent_bytes() const {
    int64_t bytes = 0;
    for_each_trainable([&](const FlatGroup& group) {
      for (const FlatParameter& p : group.weights.layout().parameters()) {
        bytes += group.at_both_ends ? 0 : c10::multiply_integers(whole_of(p)) * saved_element_bytes(group.weights);
      }
    });
    return bytes;
  }

 private:
  void join_nobody() {
    FakeOptions ranks{.rank = static_cast<int>(stage_ * plan_.knobs.tp_size),
                      .size = static_cast<int>(plan_.number_ranks),
                      .device = c10::kMeta};
    for (int64_t rank = 0; rank < plan_.number_ranks; ++rank) {
      ranks.machine_of.push_back(static_cast<int>(rank / extent_.local_ranks));
    }
    world_ = make_fake_communicator(ranks);
    groups_ = std::make_unique<StrategyGroups>(plan_, policy_of(plan_), *world_, extent_.local_ranks);
  }

  int64_t micro_batches() const { return plan_.gradient_accumulation_steps * job::MicroBatches(plan_); }

  void make_model(const PartPlace& place) {
    const bool shares = job::IsOverRanks(plan_) && are_shared(c10::kCPU, extent_.local_ranks);
    ParameterShapes shapes(plan_.model_dir, parse_dtype(plan_.dtype), place.tensor, shares);
    const ParameterSource source = [&](const ParameterSpec& spec) {
      const at::Tensor parameter = shapes(spec);
      return parameter.defined() ? parameter.requires_grad_() : parameter;
    };
    const ModelConfig config = value_or_throw(architecture::ReadModelConfig(plan_.model_dir));
    QuantizedLayers quantized(config, quantization_of(plan_), shapes.weights(), parse_dtype(plan_.dtype), c10::kMeta);
    model_ = std::make_unique<Decoder>(config, quantized.around(source), place.part_of(config.num_layers));
    quantized.put_on(*model_);
    mapped_ = shapes.finish();
    loading_bytes_ = mapped_.machine_bytes(extent_.groups);
    apply_adapter(*model_, plan_, place.tensor);
    model_->set_regularisation(regularisation_of(plan_));
  }

  void make_optimizer_alone() {
    const std::vector<NamedTensor> trainable = trainable_parameters(*model_);
    weight_bytes_ = memory_.live_bytes();
    for (const auto& [name, tensor] : trainable) {
      trainable_.push_back(tensor);
      gradient_bytes_ += static_cast<int64_t>(tensor.nbytes());
    }
    optimizer_ = make_optimizer(plan_.optimizer, trainable, {});
    updater_ = make_local_updater(*optimizer_, trainable_, nullptr);
    packed_bytes_ = bytes_to_pack(plan_, *model_);
  }

  void make_engine() {
    tensor_ = join_tensor_ranks(plan_, *groups_, *model_);
    Shardable* units = tensor_ == nullptr ? static_cast<Shardable*>(model_.get()) : tensor_.get();
    ShardPolicy policy = policy_of(plan_);
    policy.yielding_optim_frac = 0;  // as the engine has it on a CPU
    engine_ = std::make_unique<ShardEngine>(*units, policy, groups_->groups(), OptimizerOptions{},
                                            [this] { return memory_.live_bytes(); });
    updater_ = make_sharded_updater(*engine_, groups_->data_ranks(), reduces_once(plan_));
  }

  void go_through_step() {
    // The one after those in flight finds what the one after it finds.
    const int64_t stages = plan_.knobs.pp_size;
    const int64_t passes = std::min(micro_batches(), micro_batches_in_flight(stage_, stages, micro_batches()) + 1);
    std::deque<at::Tensor> in_flight;
    const int64_t before = memory_.live_bytes();
    for (const PipelineTurn& turn : one_forward_one_backward(stage_, stages, passes)) {
      if (turn.kind == PipelineTurn::Kind::kForward) {
        in_flight.push_back(model_->forward(batch_, stream(), 1.0));
        kept_bytes_ = memory_.live_bytes() - before;
        continue;
      }
      const at::Tensor output = std::exchange(in_flight.front(), {});
      in_flight.pop_front();
      const bool last = turn.micro_batch + 1 == passes;
      model_->ends_model() ? updater_->backward(output, 1.0, last)
                           : updater_->backward_from(output, at::empty_like(output), last);
    }
    if (engine_ != nullptr) {
      engine_->rehearse_update();
    }
    for (const at::Tensor& parameter : trainable_) {
      parameter.mutable_grad().reset();
    }
  }

  /// What the stage before this one gave.
  at::Tensor stream() const {
    if (model_->begins_model()) {
      return {};
    }
    const auto options = at::TensorOptions(model_->residual_dtype()).device(at::kMeta);
    return at::empty({batch_.tokens(), model_->config().hidden_size}, options).requires_grad_();
  }

  void reset_held() {
    if (engine_ != nullptr) {
      engine_->ledger().reset_peak();
    }
  }

  /// What is no activation, at its peak.
  MemoryByKind held() const {
    if (engine_ != nullptr) {
      return engine_->ledger().peak(/*with_offloaded=*/true).by_kind;
    }
    const int64_t states = memory_.live_bytes() - weight_bytes_;
    // In float16 a third of the optimiser's memory are the float32 weights that it updates.
    const int64_t master = plan_.dtype == "float16" && plan_.method == "full" ? 2 * gradient_bytes_ : 0;
    MemoryByKind bytes{};
    bytes[static_cast<size_t>(MemoryKind::kParameters)] = weight_bytes_ + mapped_.bytes();
    bytes[static_cast<size_t>(MemoryKind::kGradients)] = forecast_.empty() ? 0 : gradient_bytes_;
    bytes[static_cast<size_t>(MemoryKind::kMaster)] = master;
    bytes[static_cast<size_t>(MemoryKind::kMoments)] = states - master;
    return bytes;
  }

  MemoryByKind held_between_steps() const {
    if (engine_ != nullptr) {
      return engine_->ledger().now();
    }
    MemoryByKind bytes = held();
    bytes[static_cast<size_t>(MemoryKind::kGradients)] = 0;
    return bytes;
  }

  void add_phase(const char* name, const MemoryByKind& held, int64_t activations, StageTensors tensors,
                 int64_t mapped_bytes, const StageTensors& copies = {}) {
    tensors.each += copies.each;
    tensors.first += copies.first;
    StagePhase phase{.tensors = tensors, .mapped_bytes = mapped_bytes, .copy_bytes = copies.each + copies.first};
    phase.ledger = ledger_event(held, activations, tensors.each + tensors.first + mapped_.bytes(), /*on_cpu=*/true);
    phase.ledger.rank = stage_ * plan_.knobs.tp_size;
    phase.ledger.phase = name;
    phase.ledger.source = "predicted";
    forecast_.push_back(std::move(phase));
  }

  /// Where ranks share memory, the tile of each group that figures (losses, norms) go over: they are private buffers.
  int64_t staging_bytes(bool of_steps) const {
    if (groups_ == nullptr) {
      return 0;
    }
    int64_t bytes = 0;
    const ShardGroups groups = groups_->groups();
    std::set<Communicator*> users = {world_.get(), groups.shard, groups.replicate, groups.model};
    if (plan_.method == "full" && model_->config().tie_word_embeddings) {
      users.insert(groups.ends);
    }
    for (Communicator* group : users) {
      const bool used = of_steps || (group == world_.get() && groups_->splits_world());
      bytes += used && group != nullptr && ranks_on_own_machine(*group) > 1 ? kShmStagingBytes : 0;
    }
    return bytes;
  }

  bool copies_state() const { return plan_.save_every > 0 && plan_.checkpoint_writer == kWriterThatCopies; }

  /// What a writer that copies keeps of the state, from before the first step on.
  StageTensors checkpoint_copies() {
    if (!copies_state()) {
      return {};
    }
    if (engine_ == nullptr) {
      return {.each = snapshot_bytes(held_by(*optimizer_), 1).front()};
    }
    const std::vector<HeldState> held =
        held_by(*engine_, held_part(plan_, *groups_, model_->split_rules(), model_->begins_model()));
    const std::vector<int64_t> of_ranks = snapshot_bytes(held, groups_->data_ranks() / groups_->shard_ranks());
    const auto ranks = static_cast<int64_t>(of_ranks.size());
    const int64_t each = (std::accumulate(of_ranks.begin(), of_ranks.end(), int64_t{0}) + ranks - 1) / ranks;
    return {.each = each, .first = std::ranges::max(of_ranks) - each};
  }

  /// At its peak, beyond what the ranks hold.
  StageTensors bytes_to_save() const {
    StageTensors saving{.keeping_ranks = plan_.knobs.tp_size};
    int64_t copies = 0;
    std::vector<std::pair<int64_t, int64_t>> parts;  // of each parameter the bytes here, and of all of it
    for_each_trainable([&](const FlatGroup& group) {
      const FlatWeights& weights = group.weights;
      const auto resting = static_cast<int64_t>(weights.resting_shard().element_size());
      const int64_t element = saved_element_bytes(weights);
      for (const FlatParameter& p : weights.layout().parameters()) {
        parts.emplace_back(p.elements * element, c10::multiply_integers(whole_of(p)) * element);
        copies += parts.back().first;
      }
      const int64_t whole = weights.layout().ranks() > 1 ? weights.layout().elements() * resting : 0;
      saving.copies = std::max(saving.copies, copies + whole);
      saving.gathered = std::max(saving.gathered, whole);
    });
    const bool joins = plan_.knobs.tp_size > 1 && stage_ == 0;
    saving.first = joins ? std::max(saving.copies, bytes_to_join(parts, copies)) : saving.copies;
    return saving;
  }

  /// Tensor ranks' parts come together one parameter after the other.
  static int64_t bytes_to_join(const std::vector<std::pair<int64_t, int64_t>>& parts, int64_t own) {
    int64_t joined = 0;
    int64_t most = 0;
    for (const auto& [part, whole] : parts) {
      const bool comes_in_parts = whole > part;
      most = std::max(most, joined + own + (comes_in_parts ? whole - part + whole : 0));
      own -= part;
      joined += whole;
    }
    return most;
  }

  std::vector<int64_t> whole_of(const FlatParameter& p) const {
    return whole_shape(decoder_split_rules(), p.name, p.shape, plan_.knobs.tp_size);
  }

  /// Weights are saved in the plan's dtype, adapters as the optimiser has them.
  int64_t saved_element_bytes(const FlatWeights& weights) const {
    return static_cast<int64_t>(plan_.method == "full" ? c10::elementSize(parse_dtype(plan_.dtype))
                                                       : weights.resting_shard().element_size());
  }

  void for_each_trainable(const std::function<void(const FlatGroup&)>& visit) const {
    for (const auto& unit : engine_->units()) {
      for (const auto& group : unit->groups) {
        if (group->weights.trainable()) {
          visit(*group);
        }
      }
    }
  }

  const job::TunePlan& plan_;
  int64_t stage_;
  RunExtent extent_;
  PackedBatch batch_;
  ShapeMemory memory_;
  MappedShapes mapped_;
  int64_t loading_bytes_ = 0;  ///< on the machine, while the model is loaded
  int64_t packed_bytes_ = 0;
  int64_t weight_bytes_ = 0;    ///< with optimizer_, without what is mapped
  int64_t gradient_bytes_ = 0;  ///< with optimizer_
  int64_t kept_bytes_ = 0;
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<StrategyGroups> groups_;
  std::unique_ptr<CausalLM> model_;
  std::vector<at::Tensor> trainable_;  ///< with optimizer_
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<TensorParallel> tensor_;
  std::unique_ptr<ShardEngine> engine_;  ///< with world_
  std::unique_ptr<Updater> updater_;
  StageForecast forecast_;
};

/// How many ranks of each stage each machine has: `local_ranks` in a row share one.
std::vector<std::vector<int64_t>> ranks_of_stages(const job::TunePlan& plan, int64_t local_ranks) {
  std::vector<std::vector<int64_t>> machines;
  for (int64_t rank = 0; rank < plan.number_ranks; ++rank) {
    if (rank % local_ranks == 0) {
      machines.emplace_back(static_cast<size_t>(plan.knobs.pp_size));
    }
    ++machines.back()[static_cast<size_t>(rank / plan.knobs.tp_size % plan.knobs.pp_size)];
  }
  return machines;
}

/// Of the stages' forecasts, each phase of the stage in which a rank takes most, and what all ranks of the machine take
/// on which that is most. The first stage saves what the others have too, `received_bytes`.
CausalLmForecast highest_in_each_phase(std::vector<StageForecast> stages, int64_t received_bytes,
                                       const std::vector<std::vector<int64_t>>& machines) {
  if (StagePhase& last = stages.front().back(); last.ledger.phase == "save") {
    last.tensors.first += received_bytes;
    last.ledger.temporaries_bytes += received_bytes;
    last.ledger.peak_bytes += received_bytes;
  }
  CausalLmForecast forecast;
  for (size_t i = 0; i < stages.front().size(); ++i) {
    MemoryPhase& phase = forecast.phases.emplace_back();
    for (const StageForecast& stage : stages) {
      phase.mapped_bytes = std::max(phase.mapped_bytes, stage[i].mapped_bytes);
      if (stage[i].ledger.peak_bytes > phase.ledger.peak_bytes) {
        phase.ledger = stage[i].ledger;
        phase.copy_bytes = stage[i].copy_bytes;
      }
    }
    for (const std::vector<int64_t>& ranks : machines) {
      int64_t bytes = 0;
      for (size_t stage = 0; stage < stages.size(); ++stage) {
        bytes += stages[stage][i].tensors.of_ranks(ranks[stage]);
      }
      phase.tensor_bytes = std::max(phase.tensor_bytes, bytes);
    }
  }
  return forecast;
}

}  // namespace

const MemoryPhase& CausalLmForecast::highest() const {
  return *std::ranges::max_element(phases, {}, [](const MemoryPhase& phase) { return phase.ledger.peak_bytes; });
}

const MemoryPhase& CausalLmForecast::highest_of_machine() const {
  return *std::ranges::max_element(phases, {}, &MemoryPhase::machine_bytes);
}

CausalLmForecaster::CausalLmForecaster(const job::TunePlan& plan, PackedBatch largest, const RunExtent& extent)
    : plan_(plan), largest_(std::move(largest)), extent_(extent) {}

CausalLmForecast CausalLmForecaster::foretell(int64_t layers) const {
  std::vector<StageForecast> stages;
  int64_t received_bytes = 0;
  for (int64_t stage = 0; stage < plan_.knobs.pp_size; ++stage) {
    Rehearsal rehearsal(plan_, largest_, stage, extent_);
    stages.push_back(rehearsal.go_through(layers));
    received_bytes += stage > 0 ? rehearsal.sent_bytes() : 0;
  }
  const auto machines = ranks_of_stages(plan_, extent_.local_ranks * extent_.groups);
  return highest_in_each_phase(std::move(stages), received_bytes, machines);
}

const CausalLmForecast& CausalLmForecaster::with_checkpointed(int64_t layers) {
  const auto known = forecasts_.find(layers);
  return known != forecasts_.end() ? known->second : forecasts_.emplace(layers, foretell(layers)).first->second;
}

int64_t CausalLmForecaster::fewest_checkpointed(const std::function<bool(const MemoryPhase& steady)>& fits) {
  // By the steps alone: neither loading nor saving takes less when layers are checkpointed.
  const auto enough = [&](int64_t layers) {
    return std::ranges::all_of(with_checkpointed(layers).phases,
                               [&](const MemoryPhase& phase) { return phase.ledger.phase != "steady" || fits(phase); });
  };
  int64_t low = 0;
  int64_t high = value_or_throw(architecture::ReadModelConfig(plan_.model_dir)).num_layers;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    const bool is_enough = enough(middle);
    (is_enough ? high : low) = is_enough ? middle : middle + 1;
  }
  return low;
}

}  // namespace assay::engine
