// Measurements as Parquet: a row for each, all of it. Read by pyarrow, as Parquet is everywhere.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::samplestore {

/// Groups of rows are written as they come, so that little is in memory.
Result<std::unique_ptr<MeasurementWriter>> CreateParquetFile(const std::string& path);

/// Gives each measurement of `path` to `take`, whose first error ends it. A file that was cut off, or has other
/// columns, is refused before any is taken. An error names the file and the row. FailedPrecondition where there is no
/// pyarrow.
Status ReadParquetFile(const std::string& path, const std::function<Status(Measurement)>& take);

}  // namespace assay::samplestore
