#include "engine/train/causal_lm_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "architecture/model_config.h"
#include "architecture/parameters.h"
#include "base/text.h"
#include "engine/adapter/trainable.h"
#include "engine/kernels/memory.h"
#include "engine/model/decoder.h"
#include "engine/model/load.h"
#include "engine/model/packing.h"
#include "engine/model/status_error.h"
#include "engine/shard/pipeline_schedule.h"
#include "engine/train/causal_lm_forecast.h"
#include "engine/train/device.h"
#include "engine/train/machine_parameters.h"
#include "engine/train/memory_need.h"
#include "engine/train/model_parts.h"
#include "engine/train/rank_agreement.h"
#include "engine/train/rank_setup.h"

namespace assay::engine {
namespace {

data::TokenFile open_rows(const std::string& path) {
  data::TokenFile rows = value_or_throw(data::TokenFile::Open(path));
  if (rows.rows() == 0) {
    throw StatusError(Status::InvalidArgument(fmt::format("the data set {} has no rows (add some)", path)));
  }
  return rows;
}

void check_vocabulary(const data::TokenFile& rows, int64_t vocab_size) {
  if (rows.vocab_size() > vocab_size) {
    throw StatusError(Status::InvalidArgument(fmt::format(
        "the rows were tokenised with a vocabulary of {} entries, but the model's has only {} (use the model's own "
        "tokeniser)",
        rows.vocab_size(), vocab_size)));
  }
}

/// A model with learned positions has none beyond them.
void check_positions(int64_t longest, const ModelConfig& config) {
  if (architecture::LearnsPositions(config) && longest > config.max_positions) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the longest row has {} tokens, but the model has learned only {} positions (cut rows by a smaller "
                    "maximum length)",
                    longest, config.max_positions)));
  }
}

void check_rows(const data::TokenFile& rows, const job::TunePlan& plan, const ModelConfig& config) {
  check_vocabulary(rows, config.vocab_size);
  check_positions(longest_row(rows, plan), config);
}

/// Mapped weights are memory of the run that the allocator does not see: the budget for the rest shrinks by them.
void make_room_for_mapped_weights(int64_t budget_bytes, c10::Device device) {
  if (budget_bytes == 0 || !device.is_cpu()) {
    return;
  }
  const int64_t mapped = mapped_bytes();
  if (mapped >= budget_bytes) {
    throw StatusError(Status::OutOfMemory(fmt::format("the weights need {}, the memory budget is {}",
                                                      FormatBytes(static_cast<double>(mapped)),
                                                      FormatBytes(static_cast<double>(budget_bytes)))));
  }
  SetMemoryBudget(budget_bytes - mapped);
}

TokenBatchOptions batch_options(const job::TunePlan& plan, const StrategyGroups* groups) {
  const int64_t pieces = job::MicroBatches(plan);
  return {.batch_size = plan.batch_size / pieces,
          .accumulation_steps = plan.gradient_accumulation_steps * pieces,
          .max_length = plan.model_max_length,
          .prompt_length = prompt_length(plan),
          .packs = plan.packing,
          .shuffle = plan.shuffle,
          .seed = plan.seed,
          .rank = groups == nullptr ? 0 : groups->data_rank(),
          .ranks = groups == nullptr ? 1 : groups->data_ranks()};
}

std::unique_ptr<TokenBatches> open_batches(const job::TunePlan& plan, const StrategyGroups* groups) {
  const TokenBatchOptions options = batch_options(plan, groups);
  if (plan.data_uri.empty()) {
    return std::make_unique<TokenBatches>(open_rows(plan.tokens_file), options);
  }
  auto stream = std::make_unique<StreamedRows>(plan, options.batch_size * options.accumulation_steps * options.ranks);
  data::TokenFile longest = longest_rows(plan, stream->vocab_size());
  return std::make_unique<TokenBatches>(std::move(longest), options, std::move(stream));
}

/// What check_plan() cannot know: of a folder whose weights are quantised, what it asks where the plan has them so.
void check_quantized(const job::TunePlan& plan, const ModelConfig& config) {
  const architecture::Quantization& stored = config.quantization;
  if (plan.quantize_bits > 0 && config.num_experts > 0) {
    throw StatusError(Status::Unsupported("quantised experts are not supported yet: leave quantize_bits out"));
  }
  if (stored.bits == 0) {
    return;
  }
  throw_if_error(job::CheckTrainsQuantised(plan));
  if (plan.quantize_bits > 0) {
    throw StatusError(Status::InvalidArgument(fmt::format(
        "the weights in {} are quantised to {} bits already: leave quantize_bits out", plan.model_dir, stored.bits)));
  }
}

/// Heads and features by the tensor ranks.
void check_divides(const job::TunePlan& plan) {
  const ModelConfig config = value_or_throw(architecture::ReadModelConfig(plan.model_dir));
  // GPT-BigCode's attention is computed by each of them.
  const bool divides_heads = config.network != architecture::Network::kGptBigCode;
  const bool divides_features = !config.stacked_experts && config.network != architecture::Network::kGraniteHybrid;
  throw_if_error(job::CheckModelDivides(plan, {.attention_heads = divides_heads ? config.num_query_heads : 0,
                                               .key_value_heads = divides_heads ? config.num_key_value_heads : 0,
                                               .intermediate_features = divides_features ? config.intermediate_size : 0,
                                               .experts = config.stacked_experts ? config.num_experts : 0,
                                               .layers = config.num_layers}));
  if (plan.knobs.pp_size > 1 && config.router_loss_coefficient > 0) {
    throw StatusError(
        Status::Unsupported("the routers' auxiliary loss is of all layers together, which pipeline stages do not have: "
                            "set pp_size to 1, or output_router_logits to false in the model's config.json"));
  }
}

int64_t elements(const std::vector<NamedTensor>& tensors) {
  int64_t sum = 0;
  for (const auto& [name, tensor] : tensors) {
    sum += tensor.numel();
  }
  return sum;
}

/// Of the whole model, whichever part of it is here.
void count_parameters(const job::TunePlan& plan, CausalLmSession& session) {
  Decoder whole(session.model->config(), [&](const ParameterSpec& spec) {
    return at::empty(spec.shape, at::TensorOptions(parse_dtype(plan.dtype)).device(at::kMeta)).requires_grad_();
  });
  apply_adapter(whole, plan);
  session.trainable_parameters = elements(trainable_parameters(whole));
  session.parameters = elements(whole.parameters()) + (has_adapter(session.adapter) ? session.trainable_parameters : 0);
}

std::unique_ptr<Pipeline> make_pipeline(const CausalLM& model, const StrategyGroups* groups) {
  return std::make_unique<Pipeline>(PipelineStage{.begins_model = model.begins_model(),
                                                  .ends_model = model.ends_model(),
                                                  .hidden = model.config().hidden_size,
                                                  .dtype = model.residual_dtype(),
                                                  .ranks = groups == nullptr ? nullptr : groups->pipeline(),
                                                  .back = groups == nullptr ? nullptr : groups->pipeline_back()});
}

/// Returns the bytes that packed copies will take.
int64_t pack_weights(const job::TunePlan& plan, CausalLM& model) {
  const int64_t bytes = bytes_to_pack(plan, model);
  if (bytes > 0) {
    pack_frozen_weights(model.linears_and_head());
  }
  return bytes;
}

/// What the plan names, or as few as fit into the budget, or into the machine.
int64_t layers_to_checkpoint(const job::TunePlan& plan, CausalLmForecaster& forecaster) {
  const int64_t layers = value_or_throw(architecture::ReadModelConfig(plan.model_dir)).num_layers;
  const int64_t asked_for = layers_asked_for(plan.gradient_checkpointing, layers);
  if (asked_for != job::kAutoCheckpointing) {
    return asked_for;
  }
  return forecaster.fewest_checkpointed([&, usable = usable_bytes(c10::kCPU)](const MemoryPhase& steady) {
    return plan.memory_budget_bytes > 0 ? steady.ledger.peak_bytes <= plan.memory_budget_bytes
                                        : steady.machine_bytes() <= usable;
  });
}

/// Opens the rows, says what the run will need, and ends it where that cannot be had: nothing else is loaded yet.
/// Returns how many layers it foretold as checkpointed; nothing where it does not foretell.
std::optional<int64_t> open_and_foretell(const job::TunePlan& plan, RunExtent extent, c10::Device device,
                                         EventWriter& events, CausalLmSession& session) {
  std::optional<CausalLmForecaster> forecaster;
  int64_t layers = 0;
  do_on_all_ranks(session.world.get(), device, "read the rows in " + plan.tokens_file + plan.data_uri, [&] {
    session.batches = open_batches(plan, session.groups.get());
    const ModelConfig config = value_or_throw(architecture::ReadModelConfig(plan.model_dir));
    check_quantized(plan, config);
    check_rows(session.batches->rows(), plan, config);
    if (!plan.eval_tokens_file.empty()) {
      session.held_out.emplace(open_rows(plan.eval_tokens_file), batch_options(plan, session.groups.get()));
      check_rows(session.held_out->rows(), plan, config);
      value_or_throw(
          data::CountUnsupervisedRows(session.held_out->rows(), plan.model_max_length, plan.eval_tokens_file));
    }
    session.planned_steps =
        plan.max_steps >= 0 ? plan.max_steps : plan.num_train_epochs * session.batches->steps_per_epoch();
    if (device.is_cpu()) {
      const PackedBatch largest = session.batches->largest(session.planned_steps, config.vocab_size);
      forecaster.emplace(plan, largest, extent);
      layers = layers_to_checkpoint(plan, *forecaster);
    }
  });
  if (!device.is_cpu()) {
    return std::nullopt;
  }
  layers = agree_on_checkpointing(session.world.get(), layers);
  const CausalLmForecast& forecast = forecaster->with_checkpointed(layers);
  const job::MemoryNeed need = memory_need(forecast, extent.local_ranks * extent.groups);
  if (session.world == nullptr || session.world->rank() == 0) {
    std::ranges::for_each(forecast.phases, [&](const MemoryPhase& phase) { events.write(phase.ledger); });
    events.write(need);
  }
  refuse_together(why_it_cannot_fit(plan, forecast, need), session.world.get());
  return layers;
}

void read_model(const job::TunePlan& plan, const RankEnvironment& environment, c10::Device device,
                CausalLmSession& session) {
  const at::ScalarType dtype = parse_dtype(plan.dtype);
  const std::string what = "read the model in " + plan.model_dir;
  const PartPlace place = session.groups == nullptr ? PartPlace{} : place_of(plan, session.groups->model_rank());
  const MadeParameters made = make_on_machine(session.world.get(), environment, device, what, [&] {
    return parameter_maker(plan.model_dir, dtype, device, plan.seed, place.tensor);
  });
  do_on_all_ranks(session.world.get(), device, what, [&] {
    const ModelPart part = place.part_of(value_or_throw(architecture::ReadModelConfig(plan.model_dir)).num_layers);
    session.model = load_model(plan.model_dir, dtype, device, plan.seed, session.random_weights, place.tensor, part,
                               made, quantization_of(plan));
    session.adapter = apply_adapter(*session.model, plan, place.tensor);
    session.model->set_regularisation(regularisation_of(plan));
  });
}

/// On one rank; returns the bytes of states that no step has written to yet.
int64_t make_optimizer_of(const job::TunePlan& plan, const std::vector<NamedTensor>& trainable,
                          CausalLmSession& session) {
  std::ranges::transform(trainable, std::back_inserter(session.trainable), &NamedTensor::second);
  session.optimizer = make_optimizer(plan.optimizer, trainable, {.weight_decay = plan.weight_decay});
  if (const auto scale = loss_scale_of(plan)) {
    session.scaler.emplace(*scale);
  }
  return session.optimizer->untouched_bytes() + pack_weights(plan, *session.model);
}

/// What updates the model, which has all its parameters so far. Returns the bytes of the optimiser's states that no
/// step has written to yet.
int64_t make_updates(const job::TunePlan& plan, const ShardPolicy& policy, CausalLmSession& session) {
  count_parameters(plan, session);
  session.pipeline = make_pipeline(*session.model, session.groups.get());
  if (session.world == nullptr) {
    return make_optimizer_of(plan, trainable_parameters(*session.model), session);
  }
  session.tensor = join_tensor_ranks(plan, *session.groups, *session.model);
  Shardable* units = session.tensor == nullptr ? static_cast<Shardable*>(session.model.get()) : session.tensor.get();
  session.engine = std::make_unique<ShardEngine>(*units, policy, session.groups->groups(),
                                                 OptimizerOptions{.weight_decay = plan.weight_decay});
  return 0;
}

}  // namespace

architecture::Quantization quantization_of(const job::TunePlan& plan) {
  return {.bits = plan.quantize_bits, .group_size = plan.quantize_group_size};
}

Regularisation regularisation_of(const job::TunePlan& plan) {
  return {.label_smoothing = plan.label_smoothing, .neftune_alpha = plan.neftune_noise_alpha};
}

int64_t bytes_to_pack(const job::TunePlan& plan, CausalLM& model) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  const int64_t bytes = packed_bytes(model.linears_and_head(), model.prompt_PH().defined());
  return plan.memory_budget_bytes > 0 || bytes > kMostBytes ? 0 : bytes;
}

CausalLmSession load_causal_lm_session(const job::TunePlan& plan, const RankEnvironment& environment,
                                       c10::Device device, EventWriter& events) {
  const ShardPolicy policy = policy_of(plan);
  CausalLmSession session;
  if (job::IsOverRanks(plan)) {
    session.world = join_ranks(plan, environment, device);
    check_same_run(plan, session.world.get(), device);
    check_divides(plan);
    session.groups = std::make_unique<StrategyGroups>(plan, policy, *session.world, environment.local_world_size);
  }
  const RunExtent extent{.local_ranks = environment.local_world_size,
                         .groups = groups_on_machine(session.world.get(), environment)};
  const std::optional<int64_t> foretold_layers = open_and_foretell(plan, extent, device, events, session);
  SetMemoryBudget(plan.memory_budget_bytes, device);
  read_model(plan, environment, device, session);
  int64_t untouched_bytes = 0;
  const auto preparing = [] { return std::string("the making of gradients and states"); };
  tell_of_failure(session.world.get(), preparing, [&] {
    if (session.world == nullptr) {
      make_room_for_mapped_weights(plan.memory_budget_bytes, device);
    }
    untouched_bytes = make_updates(plan, policy, session);
    if (session.world != nullptr) {
      // Of the file only what the engine has left where it was is still mapped.
      make_room_for_mapped_weights(plan.memory_budget_bytes, device);
    }
  });
  const StepRoom room{.device = device,
                      .untouched_bytes = untouched_bytes,
                      .local_ranks = extent.local_ranks * extent.groups,
                      .has_gradients = session.engine != nullptr,
                      .in_flight = micro_batches_in_flight(session.pipeline->stage(), session.pipeline->stages(),
                                                           plan.gradient_accumulation_steps * job::MicroBatches(plan)),
                      .ranks = session.world.get(),
                      .foretold_layers = foretold_layers};
  session.checkpointing = set_checkpointing(plan, session.batches->rows(), room, *session.model);
  return session;
}

}  // namespace assay::engine
