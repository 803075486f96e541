// Which part of a ViT a rank of a tensor x pipeline mesh has, and the whole model out of all parts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/model/load_image_classifier.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// A place among the ranks that hold one model together.
struct PartPlace {
  int64_t stage = 0;
  int64_t stages = 1;
  int64_t tensor_rank = 0;
  int64_t tensor_ranks = 1;

  int64_t parts() const { return stages * tensor_ranks; }
};

/// Throws StatusError, one line, when the model does not divide as the plan asks: heads and MLP features by the tensor
/// ranks, layers by the stages.
void check_divides(const job::VitPlan& plan, const VitConfig& config);

/// The place of the model rank `index`, of those with one model in order of rank: tensor ranks of a stage lie together.
PartPlace place_of(const job::VitPlan& plan, int64_t index);

/// What load_image_classifier() needs to build this part alone.
void take_part(const PartPlace& place, const VitConfig& config, ImageClassifierOptions& options);

/// Parameters of the whole model.
int64_t count_parameters(const VitConfig& config);

/// All parameters under their names, on the first of the `model_ranks` that hold one model; the others get nothing.
/// `own`: this rank's, on the CPU. Ranks of a model call it together. null `model_ranks`: `own` is the model.
std::vector<NamedTensor> gather_parts(std::vector<NamedTensor> own, const job::VitPlan& plan, const VitConfig& config,
                                      Communicator* model_ranks);

}  // namespace assay::engine
