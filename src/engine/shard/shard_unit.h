// One stored unit inside the sharding engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/shard/flat_group.h"
#include "engine/shard/stored_units.h"

namespace assay::engine {

/// The groups of a unit and where it stands in the current pass.
struct ShardUnit {
  std::string name;
  std::vector<std::unique_ptr<FlatGroup>> groups;  ///< by dtype and what FlatGroup tells apart
  std::vector<ParameterRef> untouched;             ///< frozen ones that stay whole: each rank's own, where they were
  std::vector<int64_t> readers;                    ///< see StoredUnit
  bool shared = false;                             ///< see StoredUnit
  int64_t trainable = 0;                           ///< parameters
  int64_t gradients_missing = 0;                   ///< in this backward
  bool reducible = false;                          ///< all gradients of this backward are there

  ShardUnit(ShardContext& context, const StoredUnit& unit, const UnitPlacement& placement);

  void begin_gather();
  void wait_gather();
  void release();
  /// Whether weights that are not kept are not there.
  bool released() const;
  /// Of the weights that are not kept anyway, when they are there.
  int64_t releasable_bytes() const;
  /// Before a backward.
  void expect_gradients();
};

}  // namespace assay::engine
