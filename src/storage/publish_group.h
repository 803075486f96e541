// Many objects that count only together: a checkpoint in shards, an index with what it names.
#pragma once

#include <span>

#include "storage/object_store.h"
#include "storage/transfers.h"

namespace assay::storage {

/// Writes all of `objects`, and `marker` once all of them stand: who finds the marker finds the rest. Each key is that
/// of one object; InvalidArgument where two have the same. `options` are those of all that have none of their own, and
/// their `cancel` is that of the group.
///
/// Where one fails, the others are given up with what was uploaded of them, and there is no marker; of those that stood
/// already, the ones written under WriteCondition::kAbsent are removed again where they still are what was written
/// here, for nothing stood there before. The error is that of the first that failed, and says how many are left
/// standing, or may be where the store cannot be asked. A marker of which nobody can tell whether it stands (its answer
/// was lost, and the store cannot be asked) is an error that says so, and takes nothing back: it may yet name what is
/// there. The marker carries a token of its own in its metadata (assay-write-token). Returns the marker.
Result<ObjectInfo> PublishGroup(Transfers& transfers, ObjectStore& store, std::span<const ObjectWrite> objects,
                                const ObjectWrite& marker, const WriteOptions& options = {});

}  // namespace assay::storage
