// Sample stores as ado declares them: the measurements of the CSV files that are copied into one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::samplestore {

/// Always an error: such a file is only read.
Result<std::unique_ptr<MeasurementWriter>> CreateSampleStoreFile(const std::string& path);

/// Gives what each row of each CSV file says of each of its experiments to `take`. Experiments that are known here are
/// named as they are named here. No exploration replays them: they are of the host "copied from GENERATOR". An error
/// names the file and the line; nothing of a CSV file without a column that is asked for is taken.
Status ReadSampleStoreFile(const std::string& path, const std::function<Status(Measurement)>& take);

}  // namespace assay::samplestore
