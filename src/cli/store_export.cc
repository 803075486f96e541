// assay store export: measurements as a file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/subprocess.h"
#include "cli/options.h"
#include "cli/store_verb.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::cli {
namespace {

struct StoreExportOptions {
  std::string file;
  std::string format;
  std::string store;
  StoreFilterOptions filter;
};

Status Run(const StoreExportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const samplestore::MeasurementFilter filter, StoreFilterOf(options.filter));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store, samplestore::StoreAccess::kReadOnly));
  ASSAY_ASSIGN_OR_RETURN(const auto* format, samplestore::FindFileFormat(options.format, options.file));
  ASSAY_ASSIGN_OR_RETURN(const auto file, format->create(options.file));
  int64_t count = 0;
  ASSAY_RETURN_IF_ERROR(store->ForEach(filter, /*with_series=*/true, [&](const auto& measurement) {
    ++count;
    return InterruptRequested() ? Status::Aborted("interrupted: nothing was written") : file->Write(measurement);
  }));
  ASSAY_RETURN_IF_ERROR(file->Commit());
  fmt::print("{}: {} {}\n", options.file, count, count == 1 ? "measurement" : "measurements");
  return Status::Ok();
}

}  // namespace

Action AddStoreExport(CLI::App& app) {
  auto options = std::make_shared<StoreExportOptions>();
  app.add_option("file", options->file, "File to write, with all of each measurement")->required()->type_name("FILE");
  AddFileFormatOption(app, options->format);
  AddStoreFilterOptions(app, options->filter);
  AddStoreOption(app, options->store);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
