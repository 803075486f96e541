#include "shards/convert/publish.h"

#include <string>

#include "base/files.h"
#include "storage/integrity/checksum.h"
#include "storage/publish_group.h"

namespace assay::shards {
namespace {

std::string TableOf(const std::vector<WrittenShard>& shards) {
  std::string table = SampleTableHead();
  for (const WrittenShard& shard : shards) {
    table.append(reinterpret_cast<const char*>(shard.records.data()), shard.records.size() * sizeof(SampleRecord));
  }
  return table;
}

int64_t TokensOf(const std::vector<WrittenShard>& shards) {
  int64_t tokens = 0;
  for (const WrittenShard& shard : shards) {
    for (const SampleRecord& record : shard.records) {
      tokens += record.tokens;
    }
  }
  return tokens;
}

}  // namespace

Result<Manifest> PublishVersion(const DatasetPlace& place, storage::Transfers& transfers, const Dataset* base,
                                const std::vector<WrittenShard>& shards, const std::string& tokenizer_hash) {
  Manifest manifest;
  DatasetIndex index;
  if (base != nullptr) {
    manifest = *base->manifest;
    ++manifest.version;
    index = base->index;
  }
  if (!tokenizer_hash.empty()) {
    manifest.tokenizer_hash = tokenizer_hash;
    manifest.tokens = manifest.tokens.value_or(0) + TokensOf(shards);
  }
  for (const WrittenShard& shard : shards) {
    index.shards.push_back(shard.entry);
    manifest.shards.push_back(shard.proof);
  }
  const std::string folder = VersionFolder(manifest.version);
  const std::string table = TableOf(shards);
  const std::string index_text = FormatIndex(index);
  manifest.index_name = folder + kIndexName;
  manifest.index_sha256 = Sha256Hex(index_text);
  manifest.content_hash = ContentHash(index, manifest.shards);
  manifest.samples = index.samples();
  manifest.tables.push_back({.name = folder + "samples.bin",
                             .bytes = static_cast<int64_t>(table.size()),
                             .shards = static_cast<int64_t>(shards.size()),
                             .crc32c = storage::Crc32c(0, AsBytes(table))});
  const std::string text = FormatManifest(manifest);
  const storage::ObjectWrite objects[] = {
      {.key = place.Key(manifest.tables.back().name), .content = AsBytes(table)},
      {.key = place.Key(manifest.index_name), .content = AsBytes(index_text)},
      {.key = place.Key(folder + "manifest.json"), .content = AsBytes(text)},
      {.key = place.Key(kIndexName), .content = AsBytes(index_text)},
  };
  const storage::ObjectWrite marker = {.key = place.Key(kManifestName), .content = AsBytes(text)};
  storage::WriteOptions options;
  options.cancel = place.cancel;
  ASSAY_RETURN_IF_ERROR(storage::PublishGroup(transfers, *place.store, objects, marker, options).status());
  return manifest;
}

}  // namespace assay::shards
