// assay store import: a file's measurements into a store.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "cli/options.h"
#include "cli/store_verb.h"
#include "samplestore/exchange/measurement_file.h"

namespace assay::cli {
namespace {

struct StoreImportOptions {
  std::string file;
  std::string format;
  std::string store;
};

Status Run(const StoreImportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto* format, samplestore::FindFileFormat(options.format, options.file));
  ASSAY_ASSIGN_OR_RETURN(const auto store, OpenUserStore(options.store));
  CopyProgress progress;
  samplestore::Importer importer(*store, [&](const auto& so_far) { progress.Tell(so_far); });
  Status status = format->read(
      options.file, [&](samplestore::Measurement measurement) { return importer.Add(std::move(measurement)); });
  if (status.ok()) {
    status = importer.Finish();
  }
  const int64_t added = importer.summary().added;
  if (!status.ok()) {
    return {status.code(), fmt::format("{}{}", status.message(),
                                       added > 0 ? fmt::format(" ({} before it are in the store)", added) : "")};
  }
  fmt::print("{}: {}\n", store->url(), DescribeCopy(importer.summary()));
  return Status::Ok();
}

}  // namespace

Action AddStoreImport(CLI::App& app) {
  auto options = std::make_shared<StoreImportOptions>();
  app.add_option("file", options->file,
                 "File to read, as `assay store export` writes them, or a sample store's (YAML) as ado has it")
      ->required()
      ->type_name("FILE");
  AddFileFormatOption(app, options->format);
  AddStoreOption(app, options->store);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
