// Measurements as JSON lines: all of each, on a line, with its checksum and whether another one follows.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::samplestore {

Result<std::unique_ptr<MeasurementWriter>> CreateJsonLines(const std::string& path);

/// Gives each measurement of `path` to `take`, whose first error ends it. Empty lines do not count. An error names the
/// file and the line.
Status ReadJsonLines(const std::string& path, const std::function<Status(Measurement)>& take);

}  // namespace assay::samplestore
