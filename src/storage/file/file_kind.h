// Files as a kind of store: "file:///path", and paths without a scheme.
#pragma once

#include "storage/store_kind.h"

namespace assay::storage {

extern const StoreKind kFileKind;

/// Whether a write to files is done once the disk has it, whatever was set so far.
void SetFileSync(bool is_synced, StoreOptions& options);

/// A path's folder and last component.
StoreUri SplitPath(std::string_view path);

}  // namespace assay::storage
