// How long requests of a kind take, and from when on one counts as slow.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace assay::storage {

/// Which way the bytes of a call go: their times are kept apart.
enum class Direction { kGet, kPut };

/// The last 128 durations of each direction and power of two of bytes. May be used from any thread.
class LatencyTracker {
 public:
  void Record(Direction direction, int64_t bytes, double seconds);
  /// Twice the 95th percentile or four times the median, whichever is more, and 50 ms at least; nothing before 16
  /// requests of the kind have ended.
  std::optional<double> SlowSeconds(Direction direction, int64_t bytes) const;

 private:
  struct Window {
    std::vector<double> seconds;
    size_t next = 0;
  };
  using Key = std::pair<Direction, int>;

  mutable std::mutex mutex_;
  std::map<Key, Window> windows_;  // guarded by mutex_
};

}  // namespace assay::storage
