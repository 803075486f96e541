#include "storage/transfer/latency_tracker.h"

#include <algorithm>
#include <bit>

namespace assay::storage {
namespace {

constexpr size_t kWindow = 128;
constexpr size_t kEnough = 16;
constexpr double kFloorSeconds = 0.05;

int SizeClass(int64_t bytes) {
  return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
}

}  // namespace

void LatencyTracker::Record(Direction direction, int64_t bytes, double seconds) {
  const std::lock_guard lock(mutex_);
  Window& window = windows_[{direction, SizeClass(bytes)}];
  if (window.seconds.size() < kWindow) {
    window.seconds.push_back(seconds);
    return;
  }
  window.seconds[window.next] = seconds;
  window.next = (window.next + 1) % kWindow;
}

std::optional<double> LatencyTracker::SlowSeconds(Direction direction, int64_t bytes) const {
  std::vector<double> sorted;
  {
    const std::lock_guard lock(mutex_);
    const auto found = windows_.find({direction, SizeClass(bytes)});
    if (found == windows_.end() || found->second.seconds.size() < kEnough) {
      return std::nullopt;
    }
    sorted = found->second.seconds;
  }
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[sorted.size() / 2];
  const double p95 = sorted[sorted.size() * 95 / 100];
  return std::max({2 * p95, 4 * median, kFloorSeconds});
}

}  // namespace assay::storage
