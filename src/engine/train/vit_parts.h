// Which part of a ViT a rank of a tensor x pipeline mesh has.
#pragma once

#include <cstdint>

#include "engine/model/load_image_classifier.h"
#include "engine/train/model_parts.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// Throws StatusError, one line, when the model does not divide as the plan asks: heads and MLP features by the tensor
/// ranks, layers by the stages.
void check_divides(const job::VitPlan& plan, const VitConfig& config);

/// What load_image_classifier() needs to build this part alone.
void take_part(const PartPlace& place, const VitConfig& config, ImageClassifierOptions& options);

/// Parameters of the whole model.
int64_t count_parameters(const VitConfig& config);

}  // namespace assay::engine
