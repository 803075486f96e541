#include "shards/stream/shard_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "shards/dataset/some_samples.h"
#include "storage/store_checks.h"

namespace assay::shards {
namespace {

constexpr double kLongestWaitSeconds = 120;  // for another rank that fetches the same shard

/// What a mapping is counted as: the kernel has some 65,000 for a process.
constexpr int64_t kMappingBytes = int64_t{32} << 10;

int64_t MappedBytes(int64_t samples) {
  return kMappingBytes + static_cast<int64_t>(sizeof(uint64_t)) * (samples + 1);
}

/// Of so many samples of a shard, about.
int64_t BytesOfSome(const ShardEntry& entry, int64_t samples) {
  return entry.raw_data.bytes / std::max<int64_t>(entry.samples, 1) * samples;
}

bool IsDamaged(const Status& status) {
  return status.code() == ErrorCode::kInvalidArgument;
}

}  // namespace

ShardLoader::ShardLoader(std::span<const StreamSource> sources, const ShardTable& table, DiskCache* cache,
                         std::optional<StoreSpeed> speed)
    : sources_(sources), table_(table), cache_(cache), checked_(table.size()), cost_(speed) {
  for (const StreamSource& source : sources) {
    // Where it stands is part of it: two copies may be damaged in different places.
    names_.push_back(Sha256Hex(source.dataset.place.Uri() + "\n" + source.dataset.fingerprint()).substr(0, 24));
  }
}

bool ShardLoader::LiesHere(uint32_t shard) const {
  const Dataset& dataset = DatasetOf(shard);
  const ShardEntry& entry = dataset.index.shards[table_.shard(shard).number];
  return dataset.place.store->as_files() != nullptr && !entry.zip_data && entry.schema->packing.empty();
}

int64_t ShardLoader::MemoryOf(uint32_t shard) const {
  const ShardEntry& entry = EntryOf(shard);
  return MappedBytes(entry.samples) + (LiesHere(shard) ? 0 : entry.raw_data.bytes);
}

int64_t ShardLoader::MemoryOfSome(uint32_t shard, int64_t samples) const {
  return MappedBytes(EntryOf(shard).samples) + BytesOfSome(EntryOf(shard), samples);
}

bool ShardLoader::SamplesPay(uint32_t shard, int64_t samples) const {
  const ShardEntry& entry = EntryOf(shard);
  return cache_ == nullptr && DatasetOf(shard).place.store->as_files() == nullptr &&
         HasLoneSamples(DatasetOf(shard), table_.shard(shard).number) &&
         cost_.SamplesPay(entry.raw_data.bytes, entry.samples, samples, BytesOfSome(entry, samples));
}

Result<LoadedShard> ShardLoader::LoadSome(uint32_t shard, std::span<const uint32_t> samples) {
  const Dataset& dataset = DatasetOf(shard);
  const size_t number = table_.shard(shard).number;
  const double start = MonotonicSeconds();
  const Result<std::vector<SampleRecord>> records = ReadRecords(dataset, number);
  const double seconds = MonotonicSeconds() - start;
  Result<ShardContent> content =
      records.ok() ? LoadSamples(dataset, number, *records, samples) : Result<ShardContent>(records.status());
  if (!content.ok()) {
    counters_.damaged_fetches += IsDamaged(content.status()) ? 1 : 0;
    return Fetch(shard);
  }
  cost_.NoteRequest(static_cast<int64_t>(records->size() * sizeof(SampleRecord)), seconds);
  counters_.fetched_samples += static_cast<int64_t>(samples.size());
  counters_.fetched_bytes += content->stored_bytes;
  const int64_t bytes = MappedBytes(content->samples()) + static_cast<int64_t>(content->data.bytes.size());
  return LoadedShard{.content = std::make_shared<const ShardContent>(*std::move(content)), .memory_bytes = bytes};
}

std::string ShardLoader::CacheName(uint32_t shard, bool meta) const {
  const ShardTable::Shard& at = table_.shard(shard);
  return fmt::format("{}-{}{}", names_[at.source], at.number, meta ? "m" : "");
}

Result<LoadedShard> ShardLoader::LoadHere(uint32_t shard) {
  const Dataset& dataset = DatasetOf(shard);
  const size_t number = table_.shard(shard).number;
  ASSAY_ASSIGN_OR_RETURN(StoredShard stored, FetchShard(dataset, number));
  if (!checked_[shard]) {
    ASSAY_RETURN_IF_ERROR(CheckStored(dataset, number, stored));
    checked_[shard] = true;
  }
  ASSAY_ASSIGN_OR_RETURN(ShardContent content, UnpackShard(dataset, number, std::move(stored)));
  return Mapped(std::move(content));
}

LoadedShard ShardLoader::Mapped(ShardContent content) {
  const int64_t bytes = MappedBytes(content.samples());
  return {.content = std::make_shared<const ShardContent>(std::move(content)), .memory_bytes = bytes};
}

Result<LoadedShard> ShardLoader::Fetch(uint32_t shard) {
  const Dataset& dataset = DatasetOf(shard);
  const size_t number = table_.shard(shard).number;
  const double start = MonotonicSeconds();
  Result<ShardContent> content = LoadShard(dataset, number);
  if (content.ok()) {
    cost_.NoteShard(content->stored_bytes, MonotonicSeconds() - start);
  }
  if (!content.ok() && IsDamaged(content.status())) {
    ++counters_.damaged_fetches;  // on its way, perhaps
    content = LoadShard(dataset, number);
  }
  ASSAY_RETURN_IF_ERROR(content.status());
  ++counters_.fetched_shards;
  counters_.fetched_bytes += content->stored_bytes;
  const int64_t bytes = MappedBytes(content->samples()) + static_cast<int64_t>(content->data.bytes.size());
  return LoadedShard{.content = std::make_shared<const ShardContent>(*std::move(content)), .memory_bytes = bytes};
}

std::optional<LoadedShard> ShardLoader::FindCached(uint32_t shard) {
  const ShardEntry& entry = EntryOf(shard);
  // The small one first: it goes before the other to make room, and whoever waits looks again and again.
  std::optional<Blob> meta = entry.raw_meta ? cache_->Find(CacheName(shard, true)) : Blob();
  std::optional<Blob> data = meta ? cache_->Find(CacheName(shard, false)) : std::nullopt;
  if (!data) {
    return std::nullopt;
  }
  Result<Offsets> offsets = FindSamples(entry, data->bytes, meta->bytes);
  if (!offsets.ok()) {
    return std::nullopt;
  }
  ++counters_.cached_shards;
  return Mapped({.data = *std::move(data), .offsets = *std::move(offsets)});
}

Status ShardLoader::PutCached(uint32_t shard, const ShardContent& content,
                              const std::function<int64_t(uint32_t shard)>& next_use) {
  const std::string& prefix = names_[table_.shard(shard).source];
  const uint32_t first = shard - table_.shard(shard).number;
  const auto of_name = [&](const std::string& name) {
    uint32_t number = 0;
    const bool is_of_source = name.starts_with(prefix + "-");
    const char* begin = name.data() + std::min(name.size(), prefix.size() + 1);
    const bool is_number = std::from_chars(begin, name.data() + name.size(), number).ec == std::errc();
    return is_of_source && is_number ? next_use(first + number) : std::numeric_limits<int64_t>::max();
  };
  const ShardEntry& entry = EntryOf(shard);
  if (entry.raw_meta) {
    // Made anew from the offsets: the stored one may be compressed.
    std::vector<uint32_t> table = {static_cast<uint32_t>(content.samples())};
    table.insert(table.end(), content.offsets.begin(), content.offsets.end());
    ASSAY_RETURN_IF_ERROR(cache_->Put(CacheName(shard, true), std::as_bytes(std::span(table)), of_name));
  }
  return cache_->Put(CacheName(shard, false), content.data.bytes, of_name);
}

void ShardLoader::NoteUnkept(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (counters_.unkept_shards++ == 0) {
    cache_error_ = status;
  }
}

Status ShardLoader::cache_error() const {
  const std::lock_guard lock(mutex_);
  return cache_error_;
}

Result<LoadedShard> ShardLoader::Load(uint32_t shard, const std::function<int64_t(uint32_t shard)>& next_use) {
  if (LiesHere(shard)) {
    return LoadHere(shard);
  }
  if (cache_ == nullptr) {
    return Fetch(shard);
  }
  if (std::optional<LoadedShard> cached = FindCached(shard)) {
    return *std::move(cached);
  }
  if (const Status takes = cache_->CheckTakes(EntryOf(shard).raw_data.bytes); !takes.ok()) {
    NoteUnkept(takes);  // nobody is going to put it there: every rank fetches it, and none waits for another
    return Fetch(shard);
  }
  const storage::CancelFlag cancel = DatasetOf(shard).place.cancel;
  const double start = MonotonicSeconds();
  const std::string name = CacheName(shard, false);
  std::optional<DiskCache::Claim> claim = cache_->TryClaim(name);
  while (!claim && MonotonicSeconds() - start < kLongestWaitSeconds) {
    if (storage::IsCancelled(cancel)) {
      return storage::CancelledStatus("read", DatasetOf(shard).place.Uri(EntryOf(shard).data().basename));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    // All that wait take it once it is there, and not one after the other, each with the claim.
    if (std::optional<LoadedShard> cached = FindCached(shard)) {
      return *std::move(cached);
    }
    claim = cache_->TryClaim(name);
  }
  // Whoever had the claim may have put it there since it was looked for.
  if (std::optional<LoadedShard> cached = FindCached(shard)) {
    return *std::move(cached);
  }
  ASSAY_ASSIGN_OR_RETURN(LoadedShard loaded, Fetch(shard));
  if (const Status kept = PutCached(shard, *loaded.content, next_use); !kept.ok()) {
    NoteUnkept(kept);
  }
  return loaded;
}

}  // namespace assay::shards
