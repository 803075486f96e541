// Files that must be gone before others take their place.
#pragma once

#include <string>

namespace assay::engine {

/// Removes the file; fine when there is none. Throws StatusError.
void remove_file(const std::string& path);

}  // namespace assay::engine
