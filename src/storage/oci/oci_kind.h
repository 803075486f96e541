// OCI Object Storage as a kind of store: "oci://bucket@namespace/key", and the options that it alone has.
#pragma once

#include "storage/store_kind.h"

namespace assay::storage {

/// Endpoint: the options', else that of the region, which the options or ~/.oci/config name.
extern const StoreKind kOciKind;

}  // namespace assay::storage
