// Many objects that count only together: a checkpoint in shards, an index with what it names.
#pragma once

#include <span>

#include "storage/object_store.h"
#include "storage/transfers.h"

namespace assay::storage {

/// Writes all of `objects`, as many at a time as `transfers` has lanes, and `marker` once all of them stand: who finds
/// the marker finds the rest. Where one fails, the others are given up with what was uploaded of them, and there is no
/// marker; of those that stood already, the ones written under WriteCondition::kAbsent are removed again, for nothing
/// stood there before. The error is that of the first that failed, and says how many are left standing. Returns the
/// marker.
Result<ObjectInfo> PublishGroup(Transfers& transfers, ObjectStore& store, std::span<const ObjectWrite> objects,
                                const ObjectWrite& marker, const WriteOptions& options = {});

}  // namespace assay::storage
