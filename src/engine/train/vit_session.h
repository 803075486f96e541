// Everything that one rank of a ViT training holds once it is loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/rank_environment.h"
#include "engine/model/load_image_classifier.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/tensor_parallel.h"
#include "engine/train/image_batches.h"
#include "engine/train/strategy.h"
#include "engine/train/vit_pipeline.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// In the order in which they must go: the engine before the model and the groups, these before the world.
struct VitSession {
  std::unique_ptr<Communicator> world;
  std::unique_ptr<StrategyGroups> groups;
  LoadedImageClassifier loaded;
  std::unique_ptr<TensorParallel> tensor;  ///< null: whole layers
  std::unique_ptr<ShardEngine> engine;
  std::unique_ptr<VitPipeline> pipeline;
  std::unique_ptr<ImageBatches> batches;
  std::optional<ImageSet> evaluation;
  int64_t parameters = 0;  ///< of the whole model
  int64_t planned_steps = 0;
  int64_t checkpointed_layers = 0;

  Vit& model() { return *loaded.model; }
};

/// Layers of `model`, which may be a part, that the plan checkpoints. `auto` keeps whatever a memory cap leaves room
/// for; without a cap all of it.
int64_t layers_to_checkpoint(const job::VitPlan& plan, const Vit& model);

/// Joins the other ranks, loads the model and hands it to the sharding engine. Throws StatusError for whatever is wrong
/// with the plan's files, CommError when the ranks do not find each other.
VitSession load_vit_session(const job::VitPlan& plan, const RankEnvironment& environment, c10::Device device);

}  // namespace assay::engine
