// assay object bench: what a store moves here, in bytes a second and in bytes per second of this program's processor.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/bench/mixed_work.h"
#include "storage/bench/store_bench.h"

namespace assay::cli {
namespace {

using storage::StoreBenchPlan;
using storage::StoreBenchRow;

struct BenchOptions {
  StoreFlags store;
  std::string uri;
  std::string work = "object";
  std::string size = "512MiB";
  StoreBenchPlan plan;
  std::string output;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

nlohmann::json RowJson(const StoreBenchRow& row) {
  const double mib = static_cast<double>(row.bytes) / (1 << 20);
  const double seconds = Median(row.seconds);
  const double cpu_seconds = std::max(Median(row.cpu_seconds), 1e-6);
  const auto objects = static_cast<double>(row.objects);
  return {{"operation", row.operation},
          {"bytes", row.bytes},
          {"objects", row.objects},
          {"seconds", row.seconds},
          {"cpu_seconds", row.cpu_seconds},
          {"mib_per_s", mib / seconds},
          {"mib_per_cpu_s", mib / cpu_seconds},
          {"objects_per_s", objects / seconds},
          {"objects_per_cpu_s", objects / cpu_seconds},
          {"peak_rss_beyond_bytes",
           row.peak_rss_beyond_bytes ? nlohmann::json(*row.peak_rss_beyond_bytes) : nlohmann::json()}};
}

void PrintTable(const std::vector<StoreBenchRow>& rows) {
  TextTable table({"operation", "MiB/s", "MiB per CPU s", "objects/s", "seconds", "memory beyond"});
  for (const StoreBenchRow& row : rows) {
    const nlohmann::json json = RowJson(row);
    table.AddRow({row.operation, fmt::format("{:.0f}", json["mib_per_s"].get<double>()),
                  fmt::format("{:.0f}", json["mib_per_cpu_s"].get<double>()),
                  FormatNumber(json["objects_per_s"].get<double>()), FormatNumber(Median(row.seconds)),
                  row.peak_rss_beyond_bytes ? FormatBytes(static_cast<double>(*row.peak_rss_beyond_bytes)) : "-"});
  }
  fmt::print("{}", table.Render());
}

Status RunMixed(const BenchOptions& options, const ObjectPlace& place, const std::string& prefix,
                storage::CancelFlag cancel) {
  storage::MixedPlan plan;
  plan.operations = options.plan.objects;
  plan.prefix = prefix;
  plan.cancel = cancel;
  ASSAY_ASSIGN_OR_RETURN(const storage::MixedResult result, storage::RunMixedWork(*place.store, plan));
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty({{"right", result.right},
                                     {"errors", result.errors},
                                     {"first_error", result.first_error},
                                     {"wrong", result.wrong},
                                     {"first_wrong", result.first_wrong}}));
  } else {
    fmt::print("{} operations right, {} ended with an error, {} wrong\n", result.right, result.errors, result.wrong);
  }
  return result.wrong == 0 ? Status::Ok() : Status::Internal("wrong: " + Join(result.first_wrong, "; "));
}

Status Run(const BenchOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  const InterruptFlag interrupt;
  const std::string prefix = AsFolder(place.key) + "assay-bench-" + RandomUid() + "/";
  if (options.work == "mixed") {
    return RunMixed(options, place, prefix, interrupt.get());
  }
  StoreBenchPlan plan = options.plan;
  using Work = StoreBenchPlan::Work;
  plan.work = options.work == "object" ? Work::kObject : options.work == "objects" ? Work::kObjects : Work::kTensors;
  plan.objects = plan.work == Work::kObjects ? plan.objects : 1;
  plan.prefix = prefix;
  plan.cancel = interrupt.get();
  ASSAY_ASSIGN_OR_RETURN(plan.object_bytes, ParseBytes(options.size));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<StoreBenchRow> rows, storage::RunStoreBench(*place.store, plan));
  if (options.output == "table") {
    PrintTable(rows);
    return Status::Ok();
  }
  nlohmann::json json = nlohmann::json::array();
  for (const StoreBenchRow& row : rows) {
    json.push_back(RowJson(row));
  }
  fmt::print("{}", DumpJsonPretty(json));
  return Status::Ok();
}

}  // namespace

Action AddObjectBench(CLI::App& app) {
  constexpr int kMostRepeats = 1000;
  auto options = std::make_shared<BenchOptions>();
  app.add_option("uri", options->uri, "Bucket or prefix to write below; what is written is removed again")->required();
  app.add_option(
         "--work", options->work,
         "object: one object; objects: many; tensors: 8 tensors as one safetensors object; mixed: operations of "
         "every kind, each checked")
      ->check(CLI::IsMember({"object", "objects", "tensors", "mixed"}))
      ->capture_default_str();
  app.add_option("--size", options->size, "Of an object")
      ->check([](const std::string& text) {
        const Result<int64_t> bytes = ParseBytes(text);
        return !bytes.ok() ? bytes.status().message() : *bytes < 64 ? "at least 64 bytes" : std::string();
      })
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--count", options->plan.objects, "Of objects; with mixed, of operations")
      ->check(WholeNumber(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--repeats", options->plan.repeats, "Of put and get in turns; the median counts")
      ->check(WholeNumber(1, kMostRepeats))
      ->capture_default_str();
  AddOutputOption(app, options->output, {"table", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddBenchTo(app);
  return [options] { return options->store.decorators().Counted([&] { return Run(*options); }); };
}

}  // namespace assay::cli
