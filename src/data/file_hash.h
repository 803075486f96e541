// The hash of a file's bytes, found again while the file stays as it is.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::data {

/// SHA-256 of `path`'s bytes in hexadecimal. It is kept under `cache_dir`/hashes and found again by the file's path,
/// inode, size and times, of which that of change cannot be set: weights that were put in the place of others with the
/// times of those are read anew.
Result<std::string> HashFile(const std::string& path, const std::string& cache_dir);

}  // namespace assay::data
