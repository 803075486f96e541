// Removing all that is below a prefix.
#pragma once

#include <string>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Removes objects whose keys begin with `prefix` (empty: all of the store) while they are listed, and ends unfinished
/// uploads of such keys. The first error ends it.
Status RemoveBelow(ObjectStore& store, const std::string& prefix, CancelFlag cancel = nullptr);

}  // namespace assay::storage
