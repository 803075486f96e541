// Short texts that tell files apart by their contents.
#pragma once

#include <string>

namespace assay::engine {

/// Of its size and of up to a MiB, spread evenly over it. Throws StatusError.
std::string fingerprint_of_file(const std::string& path);
/// Of all files of a model's folder. Throws StatusError.
std::string fingerprint_of_model(const std::string& folder);

}  // namespace assay::engine
