// assay store export: measurements as a file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/files.h"
#include "base/subprocess.h"
#include "cli/options.h"
#include "cli/store_verb.h"
#include "samplestore/exchange/json_lines.h"

namespace assay::cli {
namespace {

struct StoreExportOptions {
  std::string file;
  std::string store;
  StoreFilterOptions filter;
};

Status Run(const StoreExportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const samplestore::MeasurementFilter filter, StoreFilterOf(options.filter));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store, samplestore::StoreAccess::kReadOnly));
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(options.file));
  int64_t count = 0;
  ASSAY_RETURN_IF_ERROR(store->ForEach(filter, /*with_series=*/true, [&](const auto& measurement) {
    ++count;
    return InterruptRequested() ? Status::Aborted("interrupted: nothing was written")
                                : samplestore::WriteJsonLine(measurement, file);
  }));
  ASSAY_RETURN_IF_ERROR(file.Commit());
  fmt::print("{}: {} {}\n", options.file, count, count == 1 ? "measurement" : "measurements");
  return Status::Ok();
}

}  // namespace

Action AddStoreExport(CLI::App& app) {
  auto options = std::make_shared<StoreExportOptions>();
  app.add_option("file", options->file, "File to write: JSON lines, all of a measurement on a line")
      ->required()
      ->type_name("FILE");
  AddStoreFilterOptions(app, options->filter);
  AddStoreOption(app, options->store);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
