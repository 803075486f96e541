// Brings shards into memory: out of the files where they lie, the cache, or a store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "shards/dataset/content.h"
#include "shards/stream/disk_cache.h"
#include "shards/stream/fetch_cost.h"
#include "shards/stream/shard_table.h"

namespace assay::shards {

struct LoadedShard {
  std::shared_ptr<const ShardContent> content;
  int64_t memory_bytes = 0;  ///< pages of files not among it
};

/// What was moved so far.
struct LoadCounters {
  std::atomic<int64_t> fetched_shards = 0;  ///< from a store
  std::atomic<int64_t> fetched_bytes = 0;
  std::atomic<int64_t> fetched_samples = 0;  ///< without their shards
  std::atomic<int64_t> cached_shards = 0;    ///< that came out of the cache
  std::atomic<int64_t> damaged_fetches = 0;  ///< that were fetched once more
  std::atomic<int64_t> unkept_shards = 0;    ///< that the cache could not take
};

/// Safe from several threads. What it is made of must outlive it; `cache` may be null.
class ShardLoader {
 public:
  /// `speed`: of the store, where it is known.
  ShardLoader(std::span<const StreamSource> sources, const ShardTable& table, DiskCache* cache,
              std::optional<StoreSpeed> speed);

  /// Whether `samples` of a shard are better fetched alone: of a store whose shards no cache keeps, where that is
  /// quicker by what its reads have taken.
  bool SamplesPay(uint32_t shard, int64_t samples) const;
  /// These alone, sorted, or the whole shard where that fails.
  Result<LoadedShard> LoadSome(uint32_t shard, std::span<const uint32_t> samples);

  /// Checked by checksum or hash: a file that lies here once, everything else each time. `next_use` as of
  /// DiskCache::Put(), of shards. A cache that cannot take a shard, as that of a full disk, ends nothing.
  Result<LoadedShard> Load(uint32_t shard, const std::function<int64_t(uint32_t shard)>& next_use);

  /// Memory that Load() is going to take at most, and that LoadSome() does, about.
  int64_t MemoryOf(uint32_t shard) const;
  int64_t MemoryOfSome(uint32_t shard, int64_t samples) const;
  const LoadCounters& counters() const { return counters_; }
  /// Why the cache did not take the first of unkept_shards; ok: there is none.
  Status cache_error() const;

 private:
  const Dataset& DatasetOf(uint32_t shard) const { return sources_[table_.shard(shard).source].dataset; }
  const ShardEntry& EntryOf(uint32_t shard) const { return DatasetOf(shard).index.shards[table_.shard(shard).number]; }
  bool LiesHere(uint32_t shard) const;
  static LoadedShard Mapped(ShardContent content);
  Result<LoadedShard> LoadHere(uint32_t shard);
  Result<LoadedShard> Fetch(uint32_t shard);
  std::optional<LoadedShard> FindCached(uint32_t shard);
  std::string CacheName(uint32_t shard, bool meta) const;
  Status PutCached(uint32_t shard, const ShardContent& content, const std::function<int64_t(uint32_t shard)>& next_use);
  /// Counts what the cache could not take, and keeps the first reason.
  void NoteUnkept(const Status& status);

  const std::span<const StreamSource> sources_;
  const ShardTable& table_;
  DiskCache* const cache_;
  std::vector<std::string> names_;          // of the sources in the cache
  std::vector<std::atomic<bool>> checked_;  // of shards that lie here
  LoadCounters counters_;
  FetchCost cost_;
  mutable std::mutex mutex_;
  Status cache_error_;  // guarded by mutex_
};

}  // namespace assay::shards
