// The samples of a rank in the order of an epoch, fetched before they are asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "shards/order/epoch_order.h"
#include "shards/stream/fetch_cost.h"
#include "shards/stream/shard_loader.h"
#include "shards/stream/stream_state.h"
#include "shards/stream/use_plan.h"

namespace assay::shards {

struct StreamOptions {
  OrderSettings order{};
  World world{};
  int64_t rank = 0;
  EpochPosition begin{};                    ///< where the first sample is, unless a state says it
  int threads = 4;                          ///< that fetch and unpack shards
  int64_t memory_bytes = int64_t{1} << 30;  ///< of shards in memory: one more where the next sample needs it
  std::string cache_folder{};               ///< empty: no cache on disk
  int64_t cache_bytes = int64_t{10} << 30;  ///< that the cache may take
  bool skip_damaged = false;                ///< leaves out samples of shards that are lost or damaged
  std::optional<StoreSpeed> speed{};        ///< of the stores; nothing: it is measured
};

/// A sample as its shard holds it: DecodeSample() makes a row of it.
struct StreamedSample {
  int64_t number = 0;  ///< over all sources
  std::span<const std::byte> bytes{};
  const ShardSchema* schema = nullptr;
  std::shared_ptr<const ShardContent> owner{};  ///< keeps the bytes
};

struct StreamCounters {
  int64_t samples = 0;
  int64_t used_bytes = 0;  ///< of samples
  int64_t skipped = 0;
  int64_t fetched_bytes = 0;
  int64_t fetched_shards = 0;
  int64_t fetched_samples = 0;  ///< without their shards
  int64_t cached_shards = 0;
  int64_t damaged_fetches = 0;
  int64_t unkept_shards = 0;  ///< that the cache could not take
  int64_t waits = 0;
  double wait_seconds = 0;  ///< for shards that were not there when their sample was asked for
  double cpu_seconds = 0;   ///< of the threads that fetch, check and unpack
};
/// What was counted between two looks.
StreamCounters Since(const StreamCounters& now, const StreamCounters& before);

/// Belongs to one thread. Its own threads fetch the shards of the next samples, in the order in which they are needed,
/// as far ahead as memory goes; where it does not, shards whose next sample is farthest make room. Of a shard of which
/// few samples are needed while it would be held, these alone are fetched where that is quicker.
class SampleStream {
 public:
  /// Begins where the options say, or where `from` stood. Refuses what GoOnWith() refuses, and fewer samples than
  /// ranks.
  static Result<std::unique_ptr<SampleStream>> Open(std::vector<StreamSource> sources, const StreamOptions& options,
                                                    const StreamState* from = nullptr);
  ~SampleStream();
  SampleStream(const SampleStream&) = delete;
  SampleStream& operator=(const SampleStream&) = delete;

  /// The next sample; nothing at the end of the epoch. An error names the file that is lost or damaged.
  Result<std::optional<StreamedSample>> Next();
  /// Begins the epoch behind this one.
  Status NextEpoch();
  /// Behind the last sample of Next(). Of all ranks the same, where all have had as many.
  StreamState state() const;
  uint64_t epoch() const { return position_.epoch; }
  /// Samples of this rank that Next() has still to give in this epoch, padding not among them.
  int64_t left() const;
  StreamCounters counters() const;
  /// Why the cache did not take the first of unkept_shards; ok: there is none.
  Status cache_error() const { return loader_->cache_error(); }

 private:
  enum class SlotState : uint8_t { kAbsent, kAsked, kHeld, kFailed };
  struct Slot {
    SlotState state = SlotState::kAbsent;
    LoadedShard shard{};
    Status failed{};
    int64_t until = UsePlan::kNever;  ///< its samples that are needed before this place of the plan are there
    int64_t asked_bytes = 0;          ///< memory that is counted for it until it is there
  };
  /// What is to be fetched of a shard.
  struct Part {
    std::vector<uint32_t> samples{};  ///< empty: all of it
    int64_t until = UsePlan::kNever;
    int64_t bytes = 0;  ///< of memory
  };
  struct Asked {
    uint32_t shard;
    std::vector<uint32_t> samples;
  };
  struct Loaded {
    uint32_t shard;
    Result<LoadedShard> result;
  };

  SampleStream(std::vector<StreamSource> sources, const StreamOptions& options);
  Status BeginEpoch();
  /// Asks for the shards of the samples ahead, as far as memory goes.
  void FetchAhead();
  /// What of `shard` is needed from `from` on while it would be held.
  Part PartOf(uint32_t shard, int64_t from) const;
  void Ask(uint32_t shard, Part part, bool first);
  /// What is held of `shard` is not needed any more.
  void Release(uint32_t shard);
  /// Whether the sample at `place` can be given.
  bool Holds(const ShardTable::Place& place) const;
  /// Takes what the threads have loaded.
  void TakeLoaded();
  void Take(Loaded loaded);
  /// Until `shard` is held or has failed.
  void WaitFor(uint32_t shard);
  /// Room for `bytes`, of shards that no sample before the fetch position needs; with `force` of any but `keep`.
  bool MakeRoom(int64_t bytes, bool force, uint32_t keep);
  void Work();

  const std::vector<StreamSource> sources_;
  const StreamOptions options_;
  const ShardTable table_;
  const int64_t horizon_;  // samples that half of the memory has room for
  std::unique_ptr<DiskCache> cache_;
  std::unique_ptr<ShardLoader> loader_;
  OrderSettings order_settings_;
  EpochPosition position_;  // where the plan begins
  std::optional<EpochOrder> order_;
  std::optional<UsePlan> plan_;
  int64_t fetch_ = 0;  // the first sample whose shard was not looked at
  std::vector<Slot> slots_;
  std::vector<uint32_t> held_;  // shards that take memory or pages
  int64_t memory_ = 0;          // that is held or asked for
  int64_t asked_ = 0;           // shards that are on their way
  StreamCounters counters_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ended_;
  std::deque<Asked> queue_;         // guarded by mutex_
  std::vector<Loaded> loaded_;      // guarded by mutex_
  std::vector<int64_t> next_uses_;  // as the plan has them, for the cache; guarded by mutex_
  double cpu_seconds_ = 0;          // of the threads; guarded by mutex_
  bool stopping_ = false;           // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace assay::shards
