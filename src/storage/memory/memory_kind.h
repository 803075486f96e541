// Memory of this process as a kind of store: "mem://name".
#pragma once

#include "storage/store_kind.h"

namespace assay::storage {

/// A store that is opened is a new one each time.
extern const StoreKind kMemoryKind;

}  // namespace assay::storage
