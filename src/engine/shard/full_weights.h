// Whole parameters out of their shards.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/shard/shard_engine.h"

namespace assay::engine {

enum class WeightKinds { kAll, kTrainable };

/// Every parameter of these kinds under its name, experts that other ranks hold among them, on the CPU, trainable ones
/// as the optimiser has them (float32 masters) or in `dtype`; a unit at a time, so that no device holds more than one
/// unit beside what it had. All ranks call it; those that `want` the result get it, the others nothing.
std::vector<NamedTensor> full_weights(ShardEngine& engine, bool want = true, WeightKinds kinds = WeightKinds::kAll,
                                      std::optional<at::ScalarType> dtype = {});

}  // namespace assay::engine
