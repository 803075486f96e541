// assay store: what a store holds, brought into another one or into files and back. One file a verb below it.
#include <fmt/format.h>

#include <string>

#include "cli/store_verb.h"
#include "cli/verb.h"
#include "experiment/catalogue.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::cli {
namespace {

constexpr Verb kStoreVerbs[] = {
    {"copy", "Copy measurements and operations into another store", &AddStoreCopy},
    {"export", "Write measurements as a file", &AddStoreExport},
    {"import", "Add the measurements of a file to a store", &AddStoreImport},
};

}  // namespace

Action AddStore(CLI::App& app) {
  return AddVerbs(app, kStoreVerbs);
}

void AddStoreFilterOptions(CLI::App& app, StoreFilterOptions& options) {
  app.add_option("--experiment", options.experiment, "Only measurements of this experiment")->type_name("ID");
  app.add_option("--outcome", options.outcome, "Only those with this outcome: valid, invalid or failed")
      ->type_name("NAME");
  app.add_option("--host", options.host, "Only what was measured on this machine")->type_name("NAME");
  app.add_option("--since", options.since, "Only what was measured since then (UTC, 2026-01-31T12:00:00Z)")
      ->type_name("TIME");
}

Result<samplestore::MeasurementFilter> StoreFilterOf(const StoreFilterOptions& options) {
  samplestore::MeasurementFilter filter;
  if (!options.experiment.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const experiment::Experiment* experiment, experiment::FindExperiment(options.experiment));
    filter.experiment = experiment->id();
  }
  if (!options.outcome.empty()) {
    ASSAY_ASSIGN_OR_RETURN(filter.outcome, samplestore::OutcomeFromString(options.outcome));
  }
  if (!options.host.empty()) {
    filter.found_by["host"] = options.host;
  }
  filter.measured_since = options.since;
  return filter;
}

void AddFileFormatOption(CLI::App& app, std::string& format) {
  app.add_option("--format", format, "Format of the file [by the ending of its name, else jsonl]")
      ->check(CLI::IsMember(samplestore::FileFormatNames()));
}

std::string DescribeCopy(const samplestore::CopySummary& summary) {
  return fmt::format("{} {} added, {} there already", summary.added,
                     summary.added == 1 ? "measurement" : "measurements", summary.there_already);
}

void CopyProgress::Tell(const samplestore::CopySummary& so_far) {
  constexpr double kPlainLineSeconds = 10;
  const double now = MonotonicSeconds();
  if (live_ || now - told_at_ >= kPlainLineSeconds) {
    told_at_ = now;
    line_.Update(DescribeCopy(so_far));
  }
}

}  // namespace assay::cli
