// Measurements as JSON lines: all of each, on a line.
#pragma once

#include <functional>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "samplestore/measurement.h"

namespace assay::samplestore {

/// `measurement` and a newline.
Status WriteJsonLine(const Measurement& measurement, AtomicFile& file);

/// Gives each measurement of `path` to `take`, whose first error ends it. Empty lines do not count. An error names the
/// file and the line.
Status ReadJsonLines(const std::string& path, const std::function<Status(Measurement)>& take);

}  // namespace assay::samplestore
