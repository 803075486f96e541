// What the page cache holds of a checkpoint in a folder.
#pragma once

#include <string>

namespace assay::engine {

/// Writes the files below `folder` through, since dirty pages stay, and tells the page cache to drop them; pages that
/// are in use at that moment, at a later try. Throws StatusError where it keeps more than a hundredth of them, as that
/// of a tmpfs does: what is read next is not cold.
void drop_from_page_cache(const std::string& folder);

}  // namespace assay::engine
