#include "shards/dataset/content.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "shards/format/digest.h"
#include "shards/format/litdata.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

/// From the quickest on.
constexpr std::array<std::string_view, 8> kQuickHashes = {"xxh3_128", "xxh3_64", "xxh128", "xxh64",
                                                          "xxh32",    "sha1",    "md5",    "sha256"};

std::string_view QuickestOf(const std::map<std::string, std::string>& hashes) {
  for (const std::string_view name : kQuickHashes) {
    if (hashes.contains(std::string(name))) {
      return name;
    }
  }
  return hashes.empty() ? std::string_view() : hashes.begin()->first;
}

Status Damaged(const Dataset& dataset, const FileEntry& file, std::string_view sum) {
  return Status::InvalidArgument(
      fmt::format("{} is damaged: its {} is another", dataset.place.Uri(file.basename), sum));
}

Status CheckFile(const Dataset& dataset, const FileEntry& file, const uint32_t* crc32c, const Blob& stored) {
  if (crc32c != nullptr) {
    return storage::Crc32c(0, stored.bytes) == *crc32c ? Status::Ok() : Damaged(dataset, file, "crc32c");
  }
  const std::string_view hash = QuickestOf(file.hashes);
  if (hash.empty()) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string digest, HashHex(hash, std::array{stored.bytes}));
  return digest == file.hashes.at(std::string(hash)) ? Status::Ok() : Damaged(dataset, file, hash);
}

/// A file of the index, decompressed into what the index says of it.
Result<Blob> Decompressed(const Compression& compression, const FileEntry& raw, bool packed, Blob stored) {
  if (!packed) {
    return stored;
  }
  if (raw.bytes > UINT32_MAX) {
    return Status::InvalidArgument(
        fmt::format("{} is to have {} bytes: more than a shard can", raw.basename, raw.bytes));
  }
  NewBlob out = NewBlob::Of(static_cast<size_t>(raw.bytes));
  ASSAY_RETURN_IF_ERROR(Decompress(compression, stored.bytes, out.memory));
  return out.blob;
}

Result<ShardContent> Unpack(const ShardEntry& entry, StoredShard stored) {
  const ShardSchema& schema = *entry.schema;
  ShardContent content;
  if (IsPackedLitdata(schema)) {
    ASSAY_ASSIGN_OR_RETURN(std::vector<std::byte> chunk, UnpackLitdata(schema, stored.data.bytes));
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(chunk));
    content.data = {owner, *owner};
  } else {
    ASSAY_ASSIGN_OR_RETURN(content.data, Decompressed(schema.compression, entry.raw_data, entry.zip_data.has_value(),
                                                      std::move(stored.data)));
  }
  Blob meta;
  if (entry.raw_meta) {
    ASSAY_ASSIGN_OR_RETURN(
        meta, Decompressed(schema.compression, *entry.raw_meta, entry.zip_meta.has_value(), std::move(stored.meta)));
  }
  ASSAY_ASSIGN_OR_RETURN(content.offsets, FindSamples(entry, content.data.bytes, meta.bytes));
  return content;
}

}  // namespace

Result<StoredShard> FetchShard(const Dataset& dataset, size_t shard) {
  const ShardEntry& entry = dataset.index.shards[shard];
  StoredShard stored;
  ASSAY_ASSIGN_OR_RETURN(stored.data, ReadBlob(dataset.place, entry.data().basename, entry.data().bytes));
  if (const FileEntry* meta = entry.meta()) {
    ASSAY_ASSIGN_OR_RETURN(stored.meta, ReadBlob(dataset.place, meta->basename, meta->bytes));
  }
  return stored;
}

Status CheckStored(const Dataset& dataset, size_t shard, const StoredShard& stored) {
  const ShardEntry& entry = dataset.index.shards[shard];
  const ShardProof* proof = dataset.proof(shard);
  ASSAY_RETURN_IF_ERROR(CheckFile(dataset, entry.data(), proof != nullptr ? &proof->crc32c : nullptr, stored.data));
  const FileEntry* meta = entry.meta();
  return meta == nullptr ? Status::Ok()
                         : CheckFile(dataset, *meta, proof != nullptr ? &proof->meta_crc32c : nullptr, stored.meta);
}

Result<ShardContent> UnpackShard(const Dataset& dataset, size_t shard, StoredShard stored) {
  const ShardEntry& entry = dataset.index.shards[shard];
  Result<ShardContent> content = Unpack(entry, std::move(stored));
  return content.ok() ? std::move(content) : content.status().WithContext(dataset.place.Uri(entry.data().basename));
}

Result<ShardContent> LoadShard(const Dataset& dataset, size_t shard) {
  ASSAY_ASSIGN_OR_RETURN(StoredShard stored, FetchShard(dataset, shard));
  ASSAY_RETURN_IF_ERROR(CheckStored(dataset, shard, stored));
  const auto stored_bytes = static_cast<int64_t>(stored.data.bytes.size() + stored.meta.bytes.size());
  ASSAY_ASSIGN_OR_RETURN(ShardContent content, UnpackShard(dataset, shard, std::move(stored)));
  content.stored_bytes = stored_bytes;
  return content;
}

}  // namespace assay::shards
