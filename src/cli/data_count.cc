// assay data count: how many objects and bytes are under a prefix, and how long listing them takes.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/data_place.h"
#include "cli/data_verb.h"
#include "cli/options.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct DataCountOptions {
  StoreFlags store;
  std::string uri;
  std::string output;
};

Status CountRun(const DataCountOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place, OpenDataPlace(options.store, options.uri, interrupt.get()));
  int64_t objects = 0;
  int64_t bytes = 0;
  const double start = MonotonicSeconds();
  const storage::ListOptions list{.prefix = place.prefix, .cancel = interrupt.get()};
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, storage::kListWorkers, [&](storage::ListPage page) {
    objects += static_cast<int64_t>(page.objects.size());
    for (const storage::ObjectInfo& info : page.objects) {
      bytes += info.size;
    }
    return storage::IsCancelled(place.cancel) ? storage::CancelledStatus("list", place.Uri()) : Status::Ok();
  }));
  const double seconds = MonotonicSeconds() - start;
  if (objects == 0) {
    return Status::NotFound(fmt::format("nothing is under {}", place.Uri()));
  }
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(
                         {{"uri", place.Uri()}, {"objects", objects}, {"bytes", bytes}, {"listing_seconds", seconds}}));
  } else {
    fmt::print("{} objects, {} ({} bytes), listed in {}\n", objects, FormatBytes(static_cast<double>(bytes)), bytes,
               FormatSeconds(seconds));
  }
  return Status::Ok();
}

}  // namespace

Action AddDataCount(CLI::App& app) {
  auto options = std::make_shared<DataCountOptions>();
  app.add_option("uri", options->uri, "A folder, s3://bucket/prefix, gs://, oci://bucket@namespace/")->required();
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return CountRun(*options); }); };
}

}  // namespace assay::cli
