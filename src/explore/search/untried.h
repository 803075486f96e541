// The points of a grid that were not given out yet, in a random order, whatever the size of the grid.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace assay::explore {

/// A shuffle that is made as it is asked for (Fisher and Yates; Durstenfeld, CACM 7, 1964), in memory for what was
/// given out alone.
class Untried {
 public:
  Untried(int64_t size, uint64_t seed) : size_(size), random_(seed) {}

  /// One at random; nothing when all were taken.
  std::optional<int64_t> TakeAny();
  /// False: it was taken before.
  bool Take(int64_t position) { return taken_.insert(position).second; }
  bool Has(int64_t position) const { return !taken_.contains(position); }
  int64_t size() const { return size_ - static_cast<int64_t>(taken_.size()); }

 private:
  int64_t At(int64_t place) const;

  const int64_t size_;
  int64_t next_ = 0;
  std::mt19937_64 random_;
  std::unordered_map<int64_t, int64_t> moved_;  ///< what stands at a place, where that is not its own number
  std::unordered_set<int64_t> taken_;
};

}  // namespace assay::explore
