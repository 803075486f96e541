// Measurements as CSV: a record for each, all of it. The last column says whether another one follows, so that a file
// that was cut off between two records is known as such.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::samplestore {

Result<std::unique_ptr<MeasurementWriter>> CreateCsvFile(const std::string& path);

/// Gives each measurement of `path` to `take`, whose first error ends it. A file that was cut off, or has other
/// columns, is refused before any is taken. An error names the file and the line.
Status ReadCsvFile(const std::string& path, const std::function<Status(Measurement)>& take);

}  // namespace assay::samplestore
