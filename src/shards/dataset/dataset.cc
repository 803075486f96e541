#include "shards/dataset/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

std::string VersionManifest(int64_t version) {
  return VersionFolder(version) + "manifest.json";
}

Status NothingStands(const DatasetPlace& place) {
  ASSAY_ASSIGN_OR_RETURN(const auto plan, place.store->Stat(place.Key(kUnfinishedPlanName)));
  if (plan) {
    return Status::FailedPrecondition(
        fmt::format("the conversion to {} has not ended: run it again with --resume", place.Uri()));
  }
  return Status::NotFound(fmt::format("there is no data set at {}: no {} stands there", place.Uri(), kIndexName));
}

Status CheckAgainstManifest(const Dataset& dataset, std::string_view source) {
  const Manifest& manifest = *dataset.manifest;
  const auto wrong = [&](std::string_view what) {
    return Status::InvalidArgument(
        fmt::format("{} does not fit {}: {}", dataset.place.Uri(manifest.index_name), source, what));
  };
  if (Sha256Hex(dataset.index_text) != manifest.index_sha256) {
    return wrong("its hash is another");
  }
  if (dataset.index.shards.size() != manifest.shards.size() || dataset.index.samples() != manifest.samples) {
    return wrong("it has other numbers of shards and samples");
  }
  return Status::Ok();
}

Result<Dataset> OpenVersion(const DatasetPlace& place, const Blob& text, std::string_view name) {
  const std::string source = place.Uri(name);
  Dataset dataset{.place = place};
  ASSAY_ASSIGN_OR_RETURN(dataset.manifest, ParseManifest(text.text(), source));
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> index, FindBlob(place, dataset.manifest->index_name));
  if (!index) {
    return Status::InvalidArgument(
        fmt::format("{} is missing, which {} names", place.Uri(dataset.manifest->index_name), source));
  }
  dataset.index_text = index->text();
  ASSAY_ASSIGN_OR_RETURN(dataset.index, ParseIndex(dataset.index_text, place.Uri(dataset.manifest->index_name)));
  ASSAY_RETURN_IF_ERROR(CheckAgainstManifest(dataset, source));
  return dataset;
}

/// Appends the records of one table.
Status ReadTable(const Dataset& dataset, const SampleTableFile& table, int64_t samples,
                 std::vector<SampleRecord>& records) {
  const std::string uri = dataset.place.Uri(table.name);
  ASSAY_ASSIGN_OR_RETURN(const Blob blob, ReadBlob(dataset.place, table.name, table.bytes));
  if (storage::Crc32c(0, blob.bytes) != table.crc32c) {
    return Status::InvalidArgument(fmt::format("{} is damaged: its checksum is another than the manifest's", uri));
  }
  ASSAY_RETURN_IF_ERROR(CheckSampleTable(blob.bytes, table.bytes, samples, uri));
  const std::vector<SampleRecord> read = ReadSampleRecords(blob.bytes.subspan(kSampleTableHead));
  records.insert(records.end(), read.begin(), read.end());
  return Status::Ok();
}

}  // namespace

std::string Dataset::fingerprint() const {
  return manifest ? manifest->content_hash : Sha256Hex(index_text);
}

int64_t Dataset::stored_bytes(size_t shard) const {
  const ShardEntry& entry = index.shards[shard];
  return std::max<int64_t>(entry.data().bytes, 0) + (entry.meta() != nullptr ? entry.meta()->bytes : 0);
}

Result<Dataset> OpenDataset(const DatasetPlace& place, int64_t version) {
  const std::string name = version == 0 ? std::string(kManifestName) : VersionManifest(version);
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> manifest, FindBlob(place, name));
  if (manifest) {
    return OpenVersion(place, *manifest, name);
  }
  if (version != 0) {
    return Status::NotFound(fmt::format("there is no version {} of the data set at {}", version, place.Uri()));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> index, FindBlob(place, kIndexName));
  if (!index) {
    return NothingStands(place);
  }
  Dataset dataset{.place = place, .index_text = std::string(index->text())};
  ASSAY_ASSIGN_OR_RETURN(dataset.index, ParseIndex(dataset.index_text, place.Uri(kIndexName)));
  return dataset;
}

Result<std::vector<SampleRecord>> ReadSampleTables(const Dataset& dataset) {
  std::vector<SampleRecord> records;
  size_t shard = 0;
  for (const SampleTableFile& table : dataset.manifest->tables) {
    int64_t samples = 0;
    for (int64_t i = 0; i < table.shards && shard < dataset.index.shards.size(); ++i) {
      samples += dataset.index.shards[shard++].samples;
    }
    ASSAY_RETURN_IF_ERROR(ReadTable(dataset, table, samples, records));
  }
  if (static_cast<int64_t>(records.size()) != dataset.index.samples()) {
    return Status::InvalidArgument(fmt::format("the tables of {} have {} samples, its index {}", dataset.place.Uri(),
                                               records.size(), dataset.index.samples()));
  }
  return records;
}

}  // namespace assay::shards
