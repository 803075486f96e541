// Frozen weights in the layout that products are fastest in, put on a model's linear layers from outside.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/causal_lm.h"

namespace assay::engine {

/// Packs the frozen weights of `linears` where that makes products faster (see packed_weight.h). Call it once it is
/// decided what is frozen; frozen weights must not change afterwards.
void pack_frozen_weights(const std::vector<Linear*>& linears);

/// Bytes that pack_frozen_weights() would add, in the course of the first step, to `linears` in the order of forward: a
/// copy for each direction, of those before the first one that trains for forward alone. `input_trains`: what the first
/// one reads has a gradient.
int64_t packed_bytes(const std::vector<Linear*>& linears, bool input_trains);

}  // namespace assay::engine
