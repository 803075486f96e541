// The published results of ado's SFTTrainer as CSV: a row for each experiment that somebody ran.
// https://huggingface.co/datasets/ibm-research/LLMFineTuningBench
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::samplestore {

/// Refuses measurements of experiments that are not ado's. Failed ones, which have no row there, are left out.
Result<std::unique_ptr<MeasurementWriter>> CreatePublishedFile(const std::string& path);

/// Gives each row of `path` to `take` as a measurement of another system's host. Columns may stand in any order; those
/// that name the point and whether it is valid must be there. An error names the file and the line.
Status ReadPublishedFile(const std::string& path, const std::function<Status(Measurement)>& take);

}  // namespace assay::samplestore
