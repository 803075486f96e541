#include "engine/train/connector_run/connector_data.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/model/status_error.h"
#include "shards/format/shard_layout.h"
#include "shards/stream/sample_stream.h"
#include "storage/copy/copy_tree.h"
#include "storage/list_parallel.h"
#include "storage/open.h"
#include "storage/read_options.h"

namespace assay::engine {
namespace {

constexpr std::string_view kColumns = "prompt:str,completion:str";

/// Copies tell nobody how far they are.
class SilentCopy : public storage::TreeCopyListener {
 public:
  void OnPlan(int64_t, int64_t, bool) override {}
  void OnBytes(int64_t) override {}
  void OnObject(const storage::TreeCopyEvent&) override {}
};

template <typename Take>
void list_all(const shards::DatasetPlace& place, const Take& take) {
  throw_if_error(storage::ListInParallel(*place.store, {.prefix = place.prefix}, storage::kListWorkers,
                                         [&](const storage::ListPage& page) {
                                           for (const storage::ObjectInfo& info : page.objects) {
                                             take(info);
                                           }
                                           return Status::Ok();
                                         }));
}

}  // namespace

shards::DatasetPlace open_place(const std::string& uri, std::shared_ptr<storage::RequestObserver> observer) {
  const std::string folder = uri.ends_with('/') ? uri : uri + "/";
  const storage::StoreUri parsed = value_or_throw(storage::ParseStoreUri(folder));
  storage::StoreOptions options = value_or_throw(storage::LoadStoreOptions(parsed.scheme, ""));
  options.observer = std::move(observer);
  storage::StoreAndKey at = value_or_throw(storage::OpenStore(folder, options));
  return {.store = std::move(at.store), .prefix = std::move(at.key)};
}

shards::ConvertReport convert_rows(const job::ConnectorPlan& plan, const shards::DatasetPlace& place,
                                   const std::string& compression) {
  storage::StoreAndKey rows = value_or_throw(storage::OpenStore(plan.rows_file, {}));
  const shards::SourcePattern pattern{.store = std::move(rows.store), .key = std::move(rows.key)};
  const std::vector<shards::SourceFile> sources =
      value_or_throw(shards::FindSources({&pattern, 1}, shards::RowFormat::kJsonLines, nullptr));
  shards::ConvertOptions options{.columns = value_or_throw(shards::ParseColumns(kColumns)),
                                 .size_limit = plan.shard_bytes,
                                 .threads = static_cast<int>(plan.workers)};
  if (!compression.empty()) {
    options.compression = value_or_throw(shards::Compression::Parse(compression));
  }
  return value_or_throw(shards::Convert(sources, place, options));
}

Counted count_objects(const shards::DatasetPlace& place) {
  Counted counted;
  list_all(place, [&](const storage::ObjectInfo& info) {
    ++counted.objects;
    counted.bytes += info.size;
  });
  return counted;
}

Streamed stream_all(const job::ConnectorPlan& plan, const shards::DatasetPlace& place, const std::string& cache) {
  const double begin = MonotonicSeconds();
  std::vector<shards::StreamSource> sources(1);
  sources.front().dataset = value_or_throw(shards::OpenDataset(place));
  const shards::OrderSettings order{.seed = plan.seed, .batch = plan.batch_size};
  const auto stream = value_or_throw(
      shards::SampleStream::Open(std::move(sources), {.order = value_or_throw(shards::ResolveOrder(order, {})),
                                                      .threads = static_cast<int>(plan.workers),
                                                      .cache_folder = cache,
                                                      .cache_bytes = plan.cache_bytes}));
  Streamed streamed;
  shards::Row row;
  std::string scratch;
  while (const auto sample = value_or_throw(stream->Next())) {
    throw_if_error(shards::DecodeSample(*sample->schema, sample->bytes, row, scratch));
    if (streamed.first_seconds == 0) {
      streamed.first_seconds = MonotonicSeconds() - begin;
    }
  }
  const shards::StreamCounters counters = stream->counters();
  streamed.samples = counters.samples;
  streamed.bytes = counters.used_bytes;
  streamed.wait_seconds = counters.wait_seconds;
  return streamed;
}

void copy_to_folder(const shards::DatasetPlace& place, const std::string& folder) {
  const shards::DatasetPlace target = open_place(folder);
  SilentCopy listener;
  throw_if_error(
      storage::CopyTree({place.store.get(), place.prefix}, {target.store.get(), target.prefix}, {}, listener));
}

void remove_all(const shards::DatasetPlace& place) {
  std::vector<std::string> keys;
  list_all(place, [&](const storage::ObjectInfo& info) { keys.push_back(info.key); });
  for (Status& status : place.store->RemoveMany(keys)) {
    throw_if_error(std::move(status));
  }
}

}  // namespace assay::engine
