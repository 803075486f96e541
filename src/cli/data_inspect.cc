// assay data inspect: what is in a data set of shards.
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
#include "shards/dataset/dataset.h"

namespace assay::cli {
namespace {

struct DataInspectOptions {
  StoreFlags store;
  DatasetArgument dataset;
  std::string output;
};

int64_t RawBytes(const shards::Dataset& dataset) {
  int64_t bytes = 0;
  for (const shards::ShardEntry& shard : dataset.index.shards) {
    bytes += shard.raw_data.bytes;
  }
  return bytes;
}

int64_t StoredBytes(const shards::Dataset& dataset) {
  int64_t bytes = 0;
  for (size_t i = 0; i < dataset.index.shards.size(); ++i) {
    bytes += dataset.stored_bytes(i);
  }
  return bytes;
}

nlohmann::json TokensJson(const shards::Dataset& dataset) {
  return dataset.manifest && dataset.manifest->tokens ? nlohmann::json(*dataset.manifest->tokens) : nlohmann::json();
}

/// Compressed chunks of litdata have sizes that no index tells.
nlohmann::json BytesJson(int64_t bytes) {
  return bytes < 0 ? nlohmann::json() : nlohmann::json(bytes);
}

nlohmann::json DatasetJson(const shards::Dataset& dataset) {
  nlohmann::json shards = nlohmann::json::array();
  for (const shards::ShardEntry& shard : dataset.index.shards) {
    shards.push_back(
        {{"name", shard.data().basename}, {"samples", shard.samples}, {"bytes", BytesJson(shard.data().bytes)}});
  }
  nlohmann::json json = {{"uri", dataset.place.Uri()},
                         {"samples", dataset.index.samples()},
                         {"raw_bytes", RawBytes(dataset)},
                         {"stored_bytes", StoredBytes(dataset)},
                         {"tokens", TokensJson(dataset)},
                         {"fingerprint", dataset.fingerprint()},
                         {"version", dataset.manifest ? nlohmann::json(dataset.manifest->version) : nlohmann::json()},
                         {"shards", std::move(shards)}};
  if (!dataset.index.shards.empty()) {
    const shards::ShardSchema& schema = *dataset.index.shards.front().schema;
    json["format"] = schema.format_name;
    json["compression"] = schema.compression.name;
    json["hashes"] = schema.hashes;
    json["columns"] = nlohmann::json::array();
    for (const shards::Column& column : schema.columns) {
      json["columns"].push_back({{"name", column.name}, {"encoding", column.encoding.name}});
    }
  }
  return json;
}

void PrintText(const shards::Dataset& dataset) {
  const size_t shards = dataset.index.shards.size();
  const int64_t samples = dataset.index.samples();
  if (shards > 0) {
    const shards::ShardSchema& schema = *dataset.index.shards.front().schema;
    TextTable table({"column", "encoding"});
    for (const shards::Column& column : schema.columns) {
      table.AddRow({Escaped(column.name), column.encoding.name});
    }
    fmt::print("{}\nformat       {}{}{}\n", table.Render(), schema.format_name,
               schema.compression.none() ? "" : ", compressed by " + schema.compression.name,
               schema.hashes.empty() ? "" : ", hashes " + Join(schema.hashes, ", "));
  }
  fmt::print("samples      {} in {} shard{}, {} a sample\n", samples, shards, shards == 1 ? "" : "s",
             FormatBytes(samples == 0 ? 0 : static_cast<double>(RawBytes(dataset)) / static_cast<double>(samples)));
  fmt::print("bytes        {}, stored {}\n", FormatBytes(static_cast<double>(RawBytes(dataset))),
             FormatBytes(static_cast<double>(StoredBytes(dataset))));
  if (dataset.manifest && dataset.manifest->tokens) {
    fmt::print("tokens       {}, {:.1f} a sample\n", *dataset.manifest->tokens,
               static_cast<double>(*dataset.manifest->tokens) / static_cast<double>(samples));
  }
  fmt::print("fingerprint  {} ({})\n", dataset.fingerprint(),
             dataset.manifest ? fmt::format("of its content, version {}", dataset.manifest->version)
                              : std::string("of its index; there is no manifest"));
}

Status InspectRun(const DataInspectOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place,
                         OpenDataPlace(options.store, options.dataset.uri, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const shards::Dataset dataset, shards::OpenDataset(place, options.dataset.version));
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(DatasetJson(dataset)));
  } else {
    PrintText(dataset);
  }
  return Status::Ok();
}

}  // namespace

Action AddDataInspect(CLI::App& app) {
  auto options = std::make_shared<DataInspectOptions>();
  options->dataset.AddTo(app);
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return InspectRun(*options); }); };
}

}  // namespace assay::cli
