// The settings of an optimiser in a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/value/value.h"
#include "engine/checkpoint/training_state.h"

namespace assay::engine {

/// `parameters` as groups of the torch.optim class that does what `state.optimizer_name` does, with names in the place
/// of numbers: those with decay first, as transformers.Trainer makes them. Lion, which torch has not, has the settings
/// of its paper.
checkpoint::Value param_groups(const TrainingState& state, const std::vector<std::string>& parameters);

}  // namespace assay::engine
