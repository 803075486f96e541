// The verbs of `assay store`, one file each.
#pragma once

#include <cstdio>
#include <string>

#include "base/terminal.h"
#include "base/text.h"
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

/// --format: empty where the file's name says it.
void AddFileFormatOption(CLI::App& app, std::string& format);

/// "12 measurements added, 3 there already".
std::string DescribeCopy(const samplestore::CopySummary& summary);

/// Says on standard error how far a copy is: on a terminal all the time, elsewhere a line every ten seconds.
class CopyProgress {
 public:
  void Tell(const samplestore::CopySummary& so_far);

 private:
  StatusLine line_{stderr};
  const bool live_ = IsTerminal(stderr);
  double told_at_ = MonotonicSeconds();
};

}  // namespace assay::cli
