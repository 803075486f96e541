// Everything that one rank of a language model's fine-tune holds once it is loaded.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/adapter/adapter.h"
#include "engine/comm/rank_environment.h"
#include "engine/model/causal_lm.h"
#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/tensor_parallel.h"
#include "engine/train/checkpointing.h"
#include "engine/train/event_writer.h"
#include "engine/train/held_out_rows.h"
#include "engine/train/pipeline.h"
#include "engine/train/strategy.h"
#include "engine/train/token_batches.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// In the order in which they must go: the engine before the model and the groups, these before the world.
struct CausalLmSession {
  std::unique_ptr<Communicator> world;     ///< null: one rank without a plugin, which has an optimizer
  std::unique_ptr<StrategyGroups> groups;  ///< with world
  std::unique_ptr<CausalLM> model;
  std::unique_ptr<TensorParallel> tensor;  ///< null: whole layers
  bool random_weights = false;
  AdapterConfig adapter;              ///< that the plan's method puts on
  int64_t parameters = 0;             ///< of the whole model, adapters included
  int64_t trainable_parameters = 0;   ///< of these
  std::vector<at::Tensor> trainable;  ///< with optimizer
  std::unique_ptr<Optimizer> optimizer;
  std::optional<LossScaler> scaler;     ///< with optimizer; unset: the loss is not scaled
  std::unique_ptr<ShardEngine> engine;  ///< with world
  std::unique_ptr<Pipeline> pipeline;
  std::unique_ptr<TokenBatches> batches;
  std::optional<HeldOutRows> held_out;  ///< unset: the plan has none
  int64_t planned_steps = 0;
  CheckpointingChoice checkpointing;
};

/// What a plan has weights rounded to when they are loaded.
architecture::Quantization quantization_of(const job::TunePlan& plan);

/// What a plan has done for the model to generalise.
Regularisation regularisation_of(const job::TunePlan& plan);

/// Packed copies take twice the memory of the frozen weights and a second or so of the first step. With larger models
/// that is too much for what it gains, since their products are large; with a budget, memory counts more than time.
/// Returns the bytes that those of `model` will take on one rank: 0 where they are not made.
int64_t bytes_to_pack(const job::TunePlan& plan, CausalLM& model);

/// Joins the other ranks, foretells on the CPU what the run will need, loads rows, model and adapter and makes what
/// updates them, within the plan's memory budget. Throws CannotFit before anything is loaded; StatusError for whatever
/// is wrong with the plan's files, or when plan and files do not fit together; CommError when the ranks do not find
/// each other.
CausalLmSession load_causal_lm_session(const job::TunePlan& plan, const RankEnvironment& environment,
                                       c10::Device device, EventWriter& events);

}  // namespace assay::engine
