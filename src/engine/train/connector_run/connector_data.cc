#include "engine/train/connector_run/connector_data.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/model/status_error.h"
#include "job/row_digest.h"
#include "shards/format/shard_layout.h"
#include "shards/stream/sample_stream.h"
#include "storage/copy/copy_tree.h"
#include "storage/list_parallel.h"
#include "storage/open.h"
#include "storage/read_options.h"
#include "storage/remove_below.h"

namespace assay::engine {
namespace {

constexpr std::string_view kPrompt = "prompt";
constexpr std::string_view kCompletion = "completion";
constexpr std::string_view kColumns = "prompt:str,completion:str";

/// Copies tell nobody how far they are.
class SilentCopy : public storage::TreeCopyListener {
 public:
  void OnPlan(int64_t, int64_t, bool) override {}
  void OnBytes(int64_t) override {}
  void OnObject(const storage::TreeCopyEvent&) override {}
};

/// What the rows of a pass come to.
class RowsOfPass {
 public:
  void add(const shards::StreamedSample& sample) {
    throw_if_error(shards::DecodeSample(*sample.schema, sample.bytes, row_, scratch_));
    const std::string_view prompt = text_of(*sample.schema, kPrompt);
    const std::string_view completion = text_of(*sample.schema, kCompletion);
    bytes_ += static_cast<int64_t>(prompt.size() + completion.size());
    digest_.Add(prompt, completion);
    ++rows_;
  }
  int64_t rows() const { return rows_; }
  int64_t bytes() const { return bytes_; }
  int64_t digest() const { return digest_.value(); }

 private:
  std::string_view text_of(const shards::ShardSchema& schema, std::string_view name) const {
    const auto column = std::ranges::find(schema.columns, name, &shards::Column::name);
    return row_.at(static_cast<size_t>(column - schema.columns.begin())).text;
  }

  shards::Row row_;
  std::string scratch_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
  job::RowDigest digest_;
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
                                 .threads = static_cast<int>(plan.convert_workers)};
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
  RowsOfPass pass;
  while (const auto sample = value_or_throw(stream->Next())) {
    pass.add(*sample);
    if (pass.rows() == std::min(plan.batch_size, plan.rows)) {
      streamed.first_seconds = MonotonicSeconds() - begin;
    }
  }
  const shards::StreamCounters counters = stream->counters();
  streamed.samples = counters.samples;
  streamed.bytes = pass.bytes();
  streamed.digest = pass.digest();
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
  throw_if_error(storage::RemoveBelow(*place.store, place.prefix));
}

}  // namespace assay::engine
