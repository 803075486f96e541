// assay store copy: a store's measurements into another one.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/store_verb.h"

namespace assay::cli {
namespace {

struct StoreCopyOptions {
  std::string from;
  std::string to;
  StoreFilterOptions filter;
};

Status Run(const StoreCopyOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const samplestore::MeasurementFilter filter, StoreFilterOf(options.filter));
  ASSAY_ASSIGN_OR_RETURN(const auto from, OpenUserStore(options.from, samplestore::StoreAccess::kReadOnly));
  ASSAY_ASSIGN_OR_RETURN(const auto to, OpenUserStore(options.to));
  samplestore::CopySummary summary;
  {
    CopyProgress progress;
    ASSAY_ASSIGN_OR_RETURN(
        summary, samplestore::CopyStore(*from, *to, filter, [&](const auto& so_far) { progress.Tell(so_far); }));
  }
  fmt::print("{}: {}, {} {}\n", to->url(), DescribeCopy(summary), summary.operations,
             summary.operations == 1 ? "operation" : "operations");
  return Status::Ok();
}

}  // namespace

Action AddStoreCopy(CLI::App& app) {
  auto options = std::make_shared<StoreCopyOptions>();
  app.add_option("from", options->from, "Store to read, as --store of other verbs")->required()->type_name("STORE");
  app.add_option("to", options->to, "Store to add to; made when missing")->required()->type_name("STORE");
  AddStoreFilterOptions(app, options->filter);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
