// What a rank holds of a training's state: stretches of parameters, and of what the optimiser has of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/tensor/box.h"
#include "engine/model/tensor_split.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/shard_engine.h"

namespace assay::engine {

/// A stretch of a trainable parameter. Tensors are 1-D, as long as the stretch, to be read from or written into; they
/// are those of the optimiser or the engine, and may be other ones after the next step.
struct HeldState {
  std::string name;             ///< of the parameter in the model
  checkpoint::Sizes shape;      ///< of the whole parameter
  checkpoint::Box part;         ///< what the ranks that hold this part of the model have of it
  int64_t begin = 0;            ///< the first element of the stretch, in row-major order of the part
  at::Tensor weight;            ///< as the optimiser has it
  std::vector<Moment> moments;  ///< what the optimiser keeps of it
  int64_t* steps = nullptr;     ///< updates so far; null: they are not counted
  bool is_written_here = true;  ///< else ranks with other parts of the model hold the same, and write it

  /// What the stretch is in the whole parameter, in its order.
  std::vector<checkpoint::Box> boxes() const;
};

/// Which part of the model this rank has.
struct HeldPart {
  SplitRules rules = {};
  TensorPlace tensor = {};
  bool begins_model = true;
};

/// All parameters of one rank that trains alone.
std::vector<HeldState> held_by(Optimizer& optimizer);
/// This rank's shards. Waits for the last step.
std::vector<HeldState> held_by(ShardEngine& engine, const HeldPart& part);

}  // namespace assay::engine
