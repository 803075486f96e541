// The hash of a file's bytes, found again while the file stays as it is.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::data {

/// SHA-256 of `path`'s bytes in hexadecimal. It is kept under `cache_dir`/hashes and found again by the file's path,
/// size and time of change.
Result<std::string> HashFile(const std::string& path, const std::string& cache_dir);

}  // namespace assay::data
