// What the engine gathers, gives up and moves as one, and which units of the model need it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/unit.h"
#include "engine/shard/shard_context.h"

namespace assay::engine {

/// A unit of the model, or a chunk: parameters of one kind (flat_kind()) of as many units as fit in.
struct StoredUnit {
  std::string name = {};
  std::vector<ParameterRef> parameters = {};
  int64_t elements = 0;               ///< of a chunk, what it is padded to; 0: as the parameters need
  bool keep_gathered = false;         ///< a chunk that is all there is of its kind, and small
  std::vector<int64_t> readers = {};  ///< units of the model whose forward needs it, ascending
  /// One of them reads parameters of another unit here, so that gradients come until the end of backward.
  bool shared = false;
};

struct StoredUnits {
  std::vector<StoredUnit> units;            ///< in the order of their first readers
  std::vector<std::vector<int64_t>> reads;  ///< by unit of the model, those with its own parameters first
};

/// The model's units as they are or, with ShardPolicy::chunks, in chunks of one size for each kind of parameters.
StoredUnits store_units(const ShardContext& context, const std::vector<ParameterUnit>& units);

}  // namespace assay::engine
