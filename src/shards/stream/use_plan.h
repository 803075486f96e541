// Which shards the next samples of a rank lie in: what is needed when, and what is needed last.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "shards/stream/shard_table.h"

namespace assay::shards {

/// The next uses of shards, as far ahead as `capacity` samples. Belongs to one thread.
class UsePlan {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Use {
    int64_t sample = -1;  ///< -1: padding
    ShardTable::Place place{};
  };

  /// `sample_at(k)` is the rank's k-th sample of `count`, or -1 for padding.
  UsePlan(const ShardTable& table, std::function<int64_t(int64_t)> sample_at, int64_t count, int64_t capacity);

  /// Looks ahead at `more` more samples, within the capacity and the epoch.
  void Extend(int64_t more);
  /// Of [head(), end()).
  const Use& At(int64_t k) const { return uses_[Slot(k)]; }
  int64_t head() const { return head_; }
  int64_t end() const { return end_; }
  int64_t count() const { return count_; }
  /// The first sample is not needed any more.
  void Pop();
  /// The next sample at or behind head() that lies in `shard`; kNever: none that is seen.
  int64_t NextUse(uint32_t shard) const { return next_use_[shard]; }
  /// Which samples of `shard` are needed before `end`, as far as it is seen: by their places in it, each once.
  std::vector<uint32_t> NeededOf(uint32_t shard, int64_t end) const;

 private:
  size_t Slot(int64_t k) const { return static_cast<size_t>(k % static_cast<int64_t>(uses_.size())); }

  const ShardTable& table_;
  const std::function<int64_t(int64_t)> sample_at_;
  const int64_t count_;
  int64_t head_ = 0;
  int64_t end_ = 0;
  std::vector<Use> uses_;           // a ring
  std::vector<int64_t> next_same_;  // a ring: the next use of the same shard
  std::vector<int64_t> next_use_;   // of each shard
  std::vector<int64_t> last_use_;   // of each shard, that is seen
};

}  // namespace assay::shards
