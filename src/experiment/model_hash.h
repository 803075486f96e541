// What a model folder holds, as one hash: so that a measurement says which weights it was made with.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::experiment {

/// SHA-256 over the names and contents of `model_dir`'s config.json, *.safetensors and *.safetensors.index.json. The
/// hash of each file is kept under `cache_dir`/hashes and found again by the file's path, size and time of change.
Result<std::string> HashModel(const std::string& model_dir, const std::string& cache_dir);

}  // namespace assay::experiment
