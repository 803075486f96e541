// A row of the published results of ado's SFTTrainer (LLMFineTuningBench) as a measurement, and back.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/measurement.h"

namespace assay::samplestore {

/// What says that somebody else measured it: the host of such measurements, but for those that an assay made elsewhere,
/// which are of the host "published by assay on HOST".
inline constexpr char kPublishedHost[] = "published by ado's SFTTrainer";

/// The columns, in the order in which they are written.
std::span<const std::string_view> PublishedColumns();

/// A row by its columns. Empty cells say nothing.
using PublishedRow = std::map<std::string, std::string, std::less<>>;

/// Its point by `experiment_id` and `identifier`; properties that neither names by their columns. Columns that are
/// targets are its values, others are kept in the provenance as they are. `repeat` counts the rows before it that
/// mean the same: with it the uid is the same whenever the row is read, and however it is written.
Result<Measurement> MeasurementOfRow(const PublishedRow& row, int64_t repeat);

/// A cell for each of PublishedColumns(), empty where the experiment has no such property or value. InvalidArgument for
/// an experiment that was never among those published.
Result<std::vector<std::string>> RowOfMeasurement(const Measurement& measurement);

}  // namespace assay::samplestore
