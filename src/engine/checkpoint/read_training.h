// Takes a training's state out of a checkpoint: every rank what it holds, whoever wrote it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/place.h"
#include "engine/checkpoint/held_state.h"
#include "engine/checkpoint/training_state.h"

namespace assay::engine {

/// Fills the tensors and counts of `held` from the checkpoint at `place`, converted where dtypes differ. Each byte that
/// is read is checked. Throws StatusError: for a checkpoint of another model, naming keys and shapes, before anything
/// is changed; for one with other settings than `run`; for what is damaged, when some tensors may be changed already.
TrainingState read_training(const checkpoint::Place& place, const std::map<std::string, std::string>& run,
                            const std::vector<HeldState>& held);

}  // namespace assay::engine
