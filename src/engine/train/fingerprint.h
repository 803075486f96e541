// Short texts that tell files apart by their contents.
#pragma once

#include <string>

#include "job/tune_plan.h"

namespace assay::engine {

/// Of its size and of up to a MiB, spread evenly over it. Throws StatusError.
std::string fingerprint_of_file(const std::string& path);
/// Of all files of a model's folder. Throws StatusError.
std::string fingerprint_of_model(const std::string& folder);
/// Of the tokens that `plan` trains on: of their file; of those that are streamed of what they are made of, and of the
/// rules of their order beside its seed. Throws StatusError.
std::string fingerprint_of_rows(const job::TunePlan& plan);

}  // namespace assay::engine
