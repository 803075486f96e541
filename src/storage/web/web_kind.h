// Web servers as a kind of store that is only read: "https://host/folder/name".
#pragma once

#include "storage/store_kind.h"

namespace assay::storage {

/// The bucket is "host/folder", the key the last component of the path with its query.
extern const StoreKind kWebKind;

}  // namespace assay::storage
