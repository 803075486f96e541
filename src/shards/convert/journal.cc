#include "shards/convert/journal.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "storage/list_parallel.h"

namespace assay::shards {
namespace {

using nlohmann::json;

Result<std::map<std::string, int64_t>> SizesOf(const DatasetPlace& place, const std::string& prefix) {
  std::map<std::string, int64_t> sizes;
  const storage::ListOptions list{.prefix = prefix};
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, storage::kListWorkers, [&](storage::ListPage page) {
    for (const storage::ObjectInfo& info : page.objects) {
      sizes[info.key] = info.size;
    }
    return Status::Ok();
  }));
  return sizes;
}

bool Stands(const DatasetPlace& place, const FileEntry* file, const std::map<std::string, int64_t>& sizes) {
  if (file == nullptr) {
    return true;
  }
  const auto found = sizes.find(place.Key(file->basename));
  return found != sizes.end() && found->second == file->bytes;
}

}  // namespace

std::string JournalName(int64_t shard) {
  return fmt::format("{}{:06}", kUnfinishedFolder, shard);
}

std::string FormatJournalEntry(const WrittenShard& shard) {
  const json head = {{"index", FormatIndex({.shards = {shard.entry}})},
                     {"manifest", FormatManifest({.index_name = kIndexName, .shards = {shard.proof}})},
                     {"source", shard.next.source},
                     {"offset", shard.next.offset},
                     {"line", shard.next.line}};
  std::string text = DumpJson(head) + "\n";
  text.append(reinterpret_cast<const char*>(shard.records.data()), shard.records.size() * sizeof(SampleRecord));
  return text;
}

std::optional<WrittenShard> ParseJournalEntry(std::string_view text, std::string_view source) {
  const size_t newline = text.find('\n');
  const auto head = ParseJson(text.substr(0, newline), source);
  if (newline == std::string_view::npos || !head.ok()) {
    return std::nullopt;
  }
  std::string index_text;
  std::string manifest_text;
  WrittenShard shard;
  const bool has_fields =
      ReadField(*head, "index", index_text).ok() && ReadField(*head, "manifest", manifest_text).ok() &&
      ReadField(*head, "source", shard.next.source).ok() && ReadField(*head, "offset", shard.next.offset).ok() &&
      ReadField(*head, "line", shard.next.line).ok();
  auto index = ParseIndex(index_text, source);
  auto manifest = ParseManifest(manifest_text, source);
  if (!has_fields || !index.ok() || !manifest.ok() || index->shards.size() != 1 || manifest->shards.size() != 1) {
    return std::nullopt;
  }
  shard.entry = std::move(index->shards.front());
  shard.proof = std::move(manifest->shards.front());
  const std::string_view records = text.substr(newline + 1);
  if (records.size() != static_cast<size_t>(shard.entry.samples) * sizeof(SampleRecord)) {
    return std::nullopt;
  }
  shard.records = ReadSampleRecords(std::as_bytes(std::span(records)));
  return shard;
}

Result<std::vector<WrittenShard>> ReadJournal(const DatasetPlace& place, int64_t first) {
  ASSAY_ASSIGN_OR_RETURN(const auto sizes, SizesOf(place, place.prefix));
  std::vector<WrittenShard> shards;
  for (int64_t number = first;; ++number) {
    const std::string name = JournalName(number);
    if (!sizes.contains(place.Key(name))) {
      return shards;
    }
    ASSAY_ASSIGN_OR_RETURN(const std::optional<Blob> blob, FindBlob(place, name));
    auto shard = blob ? ParseJournalEntry(blob->text(), place.Uri(name)) : std::nullopt;
    if (!shard || !Stands(place, &shard->entry.data(), sizes) || !Stands(place, shard->entry.meta(), sizes)) {
      return shards;
    }
    shards.push_back(*std::move(shard));
  }
}

Status RemoveJournal(const DatasetPlace& place) {
  ASSAY_ASSIGN_OR_RETURN(const auto sizes, SizesOf(place, place.Key(kUnfinishedFolder)));
  std::vector<std::string> keys;
  for (const auto& [key, size] : sizes) {
    keys.push_back(key);
  }
  for (const Status& removed : place.store->RemoveMany(keys)) {
    ASSAY_RETURN_IF_ERROR(removed);
  }
  return Status::Ok();
}

}  // namespace assay::shards
