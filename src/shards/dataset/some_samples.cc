#include "shards/dataset/some_samples.h"

#include <fmt/format.h>

#include <utility>

#include "storage/integrity/checksum.h"

namespace assay::shards {

/// Out of the table of the shard's version.
Result<std::vector<SampleRecord>> ReadRecords(const Dataset& dataset, size_t shard) {
  size_t first = 0;
  for (const SampleTableFile& table : dataset.manifest->tables) {
    const size_t end = first + static_cast<size_t>(table.shards);
    if (shard >= end) {
      first = end;
      continue;
    }
    int64_t before = 0;
    for (size_t i = first; i < shard; ++i) {
      before += dataset.index.shards[i].samples;
    }
    const int64_t samples = dataset.index.shards[shard].samples;
    const NewBlob read = NewBlob::Of(static_cast<size_t>(samples) * sizeof(SampleRecord));
    const storage::ReadPiece piece{.offset = SampleRecordOffset(before), .memory = read.memory};
    storage::ReadOptions options;
    options.cancel = dataset.place.cancel;
    ASSAY_RETURN_IF_ERROR(dataset.place.store->Read(dataset.place.Key(table.name), {&piece, 1}, options).status());
    return ReadSampleRecords(read.blob.bytes);
  }
  return Status::Internal(fmt::format("{} has no table of shard {}", dataset.place.Uri(kManifestName), shard));
}

bool HasLoneSamples(const Dataset& dataset, size_t shard) {
  const ShardEntry& entry = dataset.index.shards[shard];
  const ShardFormat format = entry.schema->format;
  return dataset.manifest && !entry.zip_data && (format == ShardFormat::kMds || format == ShardFormat::kWebDataset);
}

Result<ShardContent> LoadSamples(const Dataset& dataset, size_t shard, std::span<const SampleRecord> records,
                                 std::span<const uint32_t> samples) {
  const ShardEntry& entry = dataset.index.shards[shard];
  const std::string uri = dataset.place.Uri(entry.data().basename);
  size_t wanted_bytes = 0;
  for (const uint32_t sample : samples) {
    wanted_bytes += records[sample].bytes;
  }
  if (wanted_bytes > static_cast<size_t>(entry.data().bytes)) {
    return Status::InvalidArgument(fmt::format("the samples of {} are more than it", uri));
  }
  const NewBlob read = NewBlob::Of(wanted_bytes);
  ShardContent content{
      .data = read.blob, .offsets = {0}, .stored_bytes = 0, .present = std::vector<bool>(records.size())};
  std::vector<storage::ReadPiece> pieces;
  auto begin = static_cast<int64_t>(dataset.proof(shard)->first_offset);
  auto wanted = samples.begin();
  for (size_t i = 0; i < records.size(); begin += records[i++].bytes) {
    uint64_t end = content.offsets.back();
    if (wanted != samples.end() && *wanted == i) {
      pieces.push_back({.offset = begin, .memory = read.memory.subspan(end, records[i].bytes)});
      end += records[i].bytes;
      content.present[i] = true;
      ++wanted;
    }
    content.offsets.push_back(end);
  }
  if (begin > entry.data().bytes) {
    return Status::InvalidArgument(fmt::format("the samples of {} reach behind its end", uri));
  }
  storage::ReadOptions options;
  options.cancel = dataset.place.cancel;
  ASSAY_RETURN_IF_ERROR(dataset.place.store->Read(dataset.place.Key(entry.data().basename), pieces, options).status());
  for (const uint32_t sample : samples) {
    if (storage::Crc32c(0, content.sample(sample)) != records[sample].crc32c) {
      return Status::InvalidArgument(fmt::format("{} is damaged: the crc32c of its sample {} is another", uri, sample));
    }
  }
  content.stored_bytes = static_cast<int64_t>(wanted_bytes + records.size() * sizeof(SampleRecord));
  return content;
}

}  // namespace assay::shards
