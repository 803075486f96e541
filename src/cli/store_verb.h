// The verbs of `assay store`, one file each.
#pragma once

#include <string>

#include "cli/verb.h"
#include "samplestore/exchange/copy.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

Action AddStoreCopy(CLI::App& app);
Action AddStoreExport(CLI::App& app);
Action AddStoreImport(CLI::App& app);

/// Which measurements of a store to take.
struct StoreFilterOptions {
  std::string experiment;
  std::string outcome;
  std::string host;
  std::string since;
};
void AddStoreFilterOptions(CLI::App& app, StoreFilterOptions& options);
/// An error for an experiment that is not known, with the nearest that is.
Result<samplestore::MeasurementFilter> StoreFilterOf(const StoreFilterOptions& options);

/// "12 measurements added, 3 there already".
std::string DescribeCopy(const samplestore::CopySummary& summary);

}  // namespace assay::cli
