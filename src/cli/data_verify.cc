// assay data verify: reads a data set and says whether it is whole.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/parallel.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/data_place.h"
#include "cli/data_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"
#include "shards/dataset/verify.h"

namespace assay::cli {
namespace {

struct DataVerifyOptions {
  StoreFlags store;
  DatasetArgument dataset;
  std::string output;
};

void Print(const DataVerifyOptions& options, const shards::DatasetPlace& place, const shards::DatasetReport& report) {
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty({{"uri", place.Uri()},
                                     {"whole", report.damages.empty()},
                                     {"damages", report.damages},
                                     {"checked", report.reach},
                                     {"shards", report.shards},
                                     {"samples", report.samples},
                                     {"bytes", report.bytes}}));
    return;
  }
  for (const std::string& damage : report.damages) {
    fmt::print("{}\n", Escaped(damage));
  }
  if (report.damages.empty()) {
    fmt::print("ok {}: {} samples in {} shards, {} ({})\n", Escaped(place.Uri()), report.samples, report.shards,
               FormatBytes(static_cast<double>(report.bytes)), report.reach);
  }
}

Status VerifyRun(const DataVerifyOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place,
                         OpenDataPlace(options.store, options.dataset.uri, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const shards::Dataset dataset, shards::OpenDataset(place, options.dataset.version));
  TransferProgress progress("verifying");
  ASSAY_ASSIGN_OR_RETURN(
      const shards::DatasetReport report,
      shards::VerifyDataset(dataset, UsableThreads(), [&progress](int64_t bytes) { progress.AddBytes(bytes); }));
  Print(options, place, report);
  return report.damages.empty() ? Status::Ok() : Status::Io(fmt::format("{} is not whole", place.Uri()));
}

}  // namespace

Action AddDataVerify(CLI::App& app) {
  auto options = std::make_shared<DataVerifyOptions>();
  options->dataset.AddTo(app);
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return VerifyRun(*options); }); };
}

}  // namespace assay::cli
