// What fetching from a store takes, as far as it was measured: whether some samples are had sooner than their shard.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

namespace assay::shards {

/// A read takes a wait for its first byte, and a time for each byte.
struct StoreSpeed {
  double wait_seconds = 0.02;
  double bytes_per_second = 2e8;
};

/// Safe from several threads.
class FetchCost {
 public:
  /// `known`: what it is; else it is measured, from the defaults of StoreSpeed on.
  explicit FetchCost(std::optional<StoreSpeed> known) : measures_(!known), speed_(known.value_or(StoreSpeed{})) {}

  /// A whole shard of so many bytes came in so long: tells the speed.
  void NoteShard(int64_t bytes, double seconds);
  /// One request of so few bytes that most of it was a wait: tells the wait.
  void NoteRequest(int64_t bytes, double seconds);
  /// Whether `samples` of a shard, of `sample_bytes` in all, are had in half the time of the whole shard, the table
  /// that says where they are and what lies between near ones included. Never of a shard that is itself not more than a
  /// wait, and not before two whole ones have told the speed,
  /// of which the faster is believed.
  bool SamplesPay(int64_t shard_bytes, int64_t shard_samples, int64_t samples, int64_t sample_bytes) const;
  StoreSpeed speed() const;

 private:
  const bool measures_;
  mutable std::mutex mutex_;
  StoreSpeed speed_;      // guarded by mutex_
  int64_t shards_ = 0;    // noted; guarded by mutex_
  int64_t requests_ = 0;  // noted; guarded by mutex_
};

}  // namespace assay::shards
