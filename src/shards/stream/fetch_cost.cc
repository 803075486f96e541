#include "shards/stream/fetch_cost.h"

#include <algorithm>

#include "shards/format/sample_table.h"

namespace assay::shards {
namespace {

constexpr int64_t kLeastShardBytes = int64_t{1} << 20;
constexpr int64_t kMostOfAWait = int64_t{64} << 10;   // reads of fewer bytes tell the wait
constexpr int64_t kLeastOfASpeed = int64_t{1} << 20;  // reads of more tell the speed
constexpr double kNewest = 0.2;                       // weight of a read among those before it
constexpr int64_t kRequestsAtATime = 16;              // of one read of many samples

}  // namespace

void FetchCost::Note(int64_t bytes, double seconds) {
  if (!measures_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (bytes <= kMostOfAWait) {
    speed_.wait_seconds += kNewest * (seconds - speed_.wait_seconds);
  } else if (bytes >= kLeastOfASpeed) {
    const double moving = std::max(seconds - speed_.wait_seconds, seconds / 10);
    const double speed = static_cast<double>(bytes) / std::max(moving, 1e-9);
    speed_.bytes_per_second += kNewest * (speed - speed_.bytes_per_second);
  }
}

StoreSpeed FetchCost::speed() const {
  const std::lock_guard lock(mutex_);
  return speed_;
}

bool FetchCost::SamplesPay(int64_t shard_bytes, int64_t shard_samples, int64_t samples, int64_t sample_bytes) const {
  if (shard_bytes < kLeastShardBytes || samples == 0) {
    return false;
  }
  const StoreSpeed speed = this->speed();
  const auto seconds = [&speed](int64_t waits, int64_t bytes) {
    return static_cast<double>(waits) * speed.wait_seconds + static_cast<double>(bytes) / speed.bytes_per_second;
  };
  const int64_t table_bytes = shard_samples * static_cast<int64_t>(sizeof(SampleRecord));
  const int64_t waits = 1 + (samples + kRequestsAtATime - 1) / kRequestsAtATime;
  return seconds(waits, table_bytes + sample_bytes) < seconds(1, shard_bytes) / 2;
}

}  // namespace assay::shards
