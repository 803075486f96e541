#include "shards/dataset/verify.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "shards/dataset/content.h"
#include "shards/format/digest.h"
#include "storage/integrity/checksum.h"
#include "storage/store_checks.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

/// What is wrong with the data, not with the way to it.
bool IsDamage(const Status& status) {
  return status.code() == ErrorCode::kInvalidArgument || status.code() == ErrorCode::kNotFound ||
         status.code() == ErrorCode::kUnsupported;
}

/// Every hash that the index has of a file.
Status CheckHashes(const Dataset& dataset, const FileEntry& file, Bytes bytes) {
  for (const auto& [name, expected] : file.hashes) {
    ASSAY_ASSIGN_OR_RETURN(const std::string digest, HashHex(name, std::array{bytes}));
    if (digest != expected) {
      return Status::InvalidArgument(fmt::format("{} is damaged: its {} is {} and not {}",
                                                 dataset.place.Uri(file.basename), name, digest, expected));
    }
  }
  return Status::Ok();
}

/// Of `records`, which are those of the shard's samples, or none.
Status CheckSamples(const Dataset& dataset, size_t shard, const ShardContent& content,
                    std::span<const SampleRecord> records) {
  const ShardEntry& entry = dataset.index.shards[shard];
  const auto wrong = [&](int64_t sample, std::string_view what) {
    return Status::InvalidArgument(
        fmt::format("{}: sample {}: {}", dataset.place.Uri(entry.data().basename), sample, what));
  };
  Row row;
  std::string scratch;
  for (int64_t i = 0; i < content.samples(); ++i) {
    const Bytes sample = content.sample(i);
    if (!records.empty()) {
      const SampleRecord& record = records[static_cast<size_t>(i)];
      if (record.bytes != sample.size() || record.crc32c != storage::Crc32c(0, sample)) {
        return wrong(i, "its size or checksum is another than the manifest's");
      }
    }
    if (const Status decoded = DecodeSample(*entry.schema, sample, row, scratch); !decoded.ok()) {
      return wrong(i, decoded.message());
    }
  }
  return Status::Ok();
}

Status VerifyShard(const Dataset& dataset, size_t shard, std::span<const SampleRecord> records) {
  const ShardEntry& entry = dataset.index.shards[shard];
  ASSAY_ASSIGN_OR_RETURN(StoredShard stored, FetchShard(dataset, shard));
  ASSAY_RETURN_IF_ERROR(CheckStored(dataset, shard, stored));
  ASSAY_RETURN_IF_ERROR(CheckHashes(dataset, entry.data(), stored.data.bytes));
  if (const FileEntry* meta = entry.meta()) {
    ASSAY_RETURN_IF_ERROR(CheckHashes(dataset, *meta, stored.meta.bytes));
  }
  ASSAY_ASSIGN_OR_RETURN(const ShardContent content, UnpackShard(dataset, shard, std::move(stored)));
  if (entry.zip_data) {
    ASSAY_RETURN_IF_ERROR(CheckHashes(dataset, entry.raw_data, content.data.bytes));
  }
  if (const ShardProof* proof = dataset.proof(shard)) {
    ASSAY_ASSIGN_OR_RETURN(const std::string digest, HashHex("xxh3_128", std::array{content.data.bytes}));
    if (digest != proof->raw_digest) {
      return Status::InvalidArgument(
          fmt::format("{} does not hold what the manifest says", dataset.place.Uri(entry.data().basename)));
    }
  }
  return CheckSamples(dataset, shard, content, records);
}

/// What holds of the whole: the index that other readers see, and the content hash.
Status VerifyManifest(const Dataset& dataset) {
  const Manifest& manifest = *dataset.manifest;
  if (ContentHash(dataset.index, manifest.shards) != manifest.content_hash) {
    return Status::InvalidArgument(
        fmt::format("{}: the content hash is not that of its shards", dataset.place.Uri(kManifestName)));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> newest, FindBlob(dataset.place, kManifestName));
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> index, FindBlob(dataset.place, kIndexName));
  if (!newest || !index) {
    return Status::NotFound(fmt::format("{} is missing", dataset.place.Uri(newest ? kIndexName : kManifestName)));
  }
  ASSAY_ASSIGN_OR_RETURN(const Manifest latest, ParseManifest(newest->text(), dataset.place.Uri(kManifestName)));
  if (latest.version == manifest.version && index->text() != dataset.index_text) {
    return Status::InvalidArgument(
        fmt::format("{} is not the index of version {}", dataset.place.Uri(kIndexName), manifest.version));
  }
  return Status::Ok();
}

/// Without its manifest a data set of ours reads as somebody else's, and is compared with less.
Status CheckNoManifestIsLost(const Dataset& dataset) {
  const std::string first = VersionFolder(1) + "manifest.json";
  ASSAY_ASSIGN_OR_RETURN(const auto stands, dataset.place.store->Stat(dataset.place.Key(first)));
  return !stands ? Status::Ok()
                 : Status::NotFound(fmt::format("{} is missing, and {} stands: it was removed, or a conversion was cut "
                                                "off (--resume ends it)",
                                                dataset.place.Uri(kManifestName), dataset.place.Uri(first)));
}

std::string ReachOf(const Dataset& dataset) {
  std::string reach = "sizes, offsets, values";
  if (!dataset.index.shards.empty()) {
    for (const std::string& hash : dataset.index.shards.front().schema->hashes) {
      reach += ", " + hash;
    }
  }
  return dataset.manifest ? reach + ", checksums of files and samples" : reach;
}

/// Takes `status` as damage, or returns it.
Status Note(const Status& status, std::vector<std::string>& damages) {
  if (!status.ok() && IsDamage(status)) {
    damages.push_back(status.message());
    return Status::Ok();
  }
  return status;
}

}  // namespace

Result<DatasetReport> VerifyDataset(const Dataset& dataset, int threads,
                                    const std::function<void(int64_t bytes)>& progress) {
  DatasetReport report{.reach = ReachOf(dataset)};
  std::vector<SampleRecord> records;
  if (dataset.manifest) {
    ASSAY_RETURN_IF_ERROR(Note(VerifyManifest(dataset), report.damages));
    Result<std::vector<SampleRecord>> read = ReadSampleTables(dataset);
    ASSAY_RETURN_IF_ERROR(Note(read.status(), report.damages));
    records = read.ok() ? *std::move(read) : records;
  } else {
    ASSAY_RETURN_IF_ERROR(Note(CheckNoManifestIsLost(dataset), report.damages));
  }
  const std::vector<ShardEntry>& shards = dataset.index.shards;
  std::vector<size_t> first(shards.size(), 0);
  for (size_t i = 1; i < shards.size(); ++i) {
    first[i] = first[i - 1] + static_cast<size_t>(shards[i - 1].samples);
  }
  std::vector<Status> ends(shards.size());
  ParallelFor(static_cast<int64_t>(shards.size()), threads, [&](int64_t i) {
    const auto shard = static_cast<size_t>(i);
    if (storage::IsCancelled(dataset.place.cancel)) {
      ends[shard] = storage::CancelledStatus("verify", dataset.place.Uri());
      return;
    }
    const auto count = static_cast<size_t>(shards[shard].samples);
    ends[shard] = VerifyShard(
        dataset, shard,
        records.empty() ? std::span<const SampleRecord>() : std::span(records).subspan(first[shard], count));
    progress(dataset.stored_bytes(shard));
  });
  for (size_t i = 0; i < shards.size(); ++i) {
    ASSAY_RETURN_IF_ERROR(Note(ends[i], report.damages));
    report.samples += ends[i].ok() ? shards[i].samples : 0;
    report.bytes += dataset.stored_bytes(i);
    ++report.shards;
  }
  return report;
}

}  // namespace assay::shards
