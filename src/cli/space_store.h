// The store that a space's file names by its `sampleStoreIdentifier`.
#pragma once

#include <string>

#include "base/status.h"
#include "space/discovery_space.h"

namespace assay::cli {

/// `given`, what --store says. Where that is empty, the store that the space at `space_path` names: by URL or path,
/// which begins at the space's folder, or as NAME.db in the user's data folder where there is one. Empty, the user's
/// own, for `default`, for a name of none, and where the file names none.
Result<std::string> StoreOfSpace(const std::string& given, const std::string& space_path);

/// Why `space`'s measurements are not in the store that it names but in that of `url`, the user's own where that is
/// empty: a line without passwords. Empty where they are in the store that it names.
std::string NoteOnStore(const space::DiscoverySpace& space, const std::string& url);

}  // namespace assay::cli
