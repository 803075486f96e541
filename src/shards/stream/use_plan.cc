#include "shards/stream/use_plan.h"

#include <algorithm>
#include <utility>

namespace assay::shards {

UsePlan::UsePlan(const ShardTable& table, std::function<int64_t(int64_t)> sample_at, int64_t count, int64_t capacity)
    : table_(table),
      sample_at_(std::move(sample_at)),
      count_(count),
      uses_(static_cast<size_t>(std::max<int64_t>(1, std::min(count, capacity)))),
      next_same_(uses_.size(), kNever),
      next_use_(table.size(), kNever),
      last_use_(table.size(), kNever) {}

void UsePlan::Extend(int64_t more) {
  const int64_t end = std::min({count_, end_ + more, head_ + static_cast<int64_t>(uses_.size())});
  for (; end_ < end; ++end_) {
    Use& use = uses_[Slot(end_)];
    use.sample = sample_at_(end_);
    next_same_[Slot(end_)] = kNever;
    if (use.sample < 0) {
      continue;
    }
    use.place = table_.PlaceOf(use.sample);
    const uint32_t shard = use.place.shard;
    if (next_use_[shard] == kNever) {
      next_use_[shard] = end_;
    } else {
      next_same_[Slot(last_use_[shard])] = end_;
    }
    last_use_[shard] = end_;
  }
}

std::vector<uint32_t> UsePlan::NeededOf(uint32_t shard, int64_t end) const {
  std::vector<uint32_t> needed;
  for (int64_t use = next_use_[shard]; use != kNever && use < end; use = next_same_[Slot(use)]) {
    needed.push_back(At(use).place.index);
  }
  std::ranges::sort(needed);
  needed.erase(std::ranges::unique(needed).begin(), needed.end());
  return needed;
}

void UsePlan::Pop() {
  const Use& use = At(head_);
  if (use.sample >= 0) {
    next_use_[use.place.shard] = next_same_[Slot(head_)];
  }
  ++head_;
}

}  // namespace assay::shards
