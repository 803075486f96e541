// assay data cat: samples as lines of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/data_place.h"
#include "cli/data_verb.h"
#include "cli/options.h"
#include "shards/dataset/content.h"
#include "shards/format/row_json.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct DataCatOptions {
  StoreFlags store;
  DatasetArgument dataset;
  int64_t from = 0;
  int64_t count = kLargestCount;
};

/// Samples [begin, end) of a shard.
Status PrintSamples(const shards::Dataset& dataset, size_t shard, int64_t begin, int64_t end) {
  const shards::ShardEntry& entry = dataset.index.shards[shard];
  ASSAY_ASSIGN_OR_RETURN(const shards::ShardContent content, shards::LoadShard(dataset, shard));
  shards::Row row;
  std::string scratch;
  std::string line;
  for (int64_t i = begin; i < end && !storage::IsCancelled(dataset.place.cancel); ++i) {
    if (const Status decoded = shards::DecodeSample(*entry.schema, content.sample(i), row, scratch); !decoded.ok()) {
      return decoded.WithContext(fmt::format("{}: sample {}", dataset.place.Uri(entry.data().basename), i));
    }
    line.clear();
    shards::AppendRowJson(entry.schema->columns, row, line);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  return storage::IsCancelled(dataset.place.cancel) ? storage::CancelledStatus("read", dataset.place.Uri())
                                                    : Status::Ok();
}

Status CatRun(const DataCatOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place,
                         OpenDataPlace(options.store, options.dataset.uri, interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const shards::Dataset dataset, shards::OpenDataset(place, options.dataset.version));
  const int64_t samples = dataset.index.samples();
  if (options.from > samples) {
    return Status::InvalidArgument(fmt::format("--from {}: {} has {} samples", options.from, place.Uri(), samples));
  }
  const int64_t end = options.from + std::min(options.count, samples - options.from);
  int64_t first = 0;
  for (size_t shard = 0; shard < dataset.index.shards.size() && first < end; ++shard) {
    const int64_t count = dataset.index.shards[shard].samples;
    if (const int64_t begin = std::max(options.from, first); begin < std::min(first + count, end)) {
      ASSAY_RETURN_IF_ERROR(PrintSamples(dataset, shard, begin - first, std::min(count, end - first)));
    }
    first += count;
  }
  return Status::Ok();
}

}  // namespace

Action AddDataCat(CLI::App& app) {
  auto options = std::make_shared<DataCatOptions>();
  options->dataset.AddTo(app);
  app.add_option("--from", options->from, "The first sample, counted from 0")->check(WholeNumber(0));
  app.add_option("--count", options->count, "How many; without: all")->check(WholeNumber(1));
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return CatRun(*options); }); };
}

}  // namespace assay::cli
