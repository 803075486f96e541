#include "shards/stream/fetch_cost.h"

#include <algorithm>
#include <cmath>

#include "shards/format/sample_table.h"
#include "storage/transfer/range_plan.h"

namespace assay::shards {
namespace {

constexpr int64_t kLeastShardBytes = int64_t{1} << 20;
constexpr int64_t kFirstShards = 2;
constexpr double kNewest = 0.2;           // weight of what is newest among much before it
constexpr int64_t kRequestsAtATime = 16;  // of one read of many samples

/// Of `noted` before it; the first few are their mean.
void Average(double value, int64_t& noted, double& average) {
  ++noted;
  average += std::max(kNewest, 1 / static_cast<double>(noted)) * (value - average);
}

/// What a read of samples fetches.
struct SampleRead {
  double requests = 0;
  double bytes = 0;
};

/// Samples that lie anywhere in their shard: gaps between them are of exponential lengths, and short ones are fetched.
SampleRead ReadOf(int64_t shard_bytes, int64_t samples, int64_t sample_bytes) {
  const auto number = static_cast<double>(samples);
  const double gap = static_cast<double>(std::max<int64_t>(shard_bytes - sample_bytes, 1)) / number;
  const double most = storage::kCoalesceGapBytes / gap;
  const double apart = std::exp(-most);  // that part of all gaps is longer than what is fetched
  return {.requests = 1 + (number - 1) * apart,
          .bytes = static_cast<double>(sample_bytes) + (number - 1) * gap * (1 - apart * (1 + most))};
}

}  // namespace

void FetchCost::NoteShard(int64_t bytes, double seconds) {
  if (!measures_ || bytes < kLeastShardBytes) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const double moving = std::max({seconds - speed_.wait_seconds, seconds / 10, 1e-9});
  const double speed = static_cast<double>(bytes) / moving;
  // Connections begin with the first ones, and once samples are fetched alone nothing tells the speed again.
  if (shards_ > 0 && shards_ < kFirstShards) {
    ++shards_;
    speed_.bytes_per_second = std::max(speed, speed_.bytes_per_second);
    return;
  }
  Average(speed, shards_, speed_.bytes_per_second);
}

void FetchCost::NoteRequest(int64_t bytes, double seconds) {
  if (!measures_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const double waited = std::max(seconds - static_cast<double>(bytes) / speed_.bytes_per_second, 0.0);
  Average(waited, requests_, speed_.wait_seconds);
}

StoreSpeed FetchCost::speed() const {
  const std::lock_guard lock(mutex_);
  return speed_;
}

bool FetchCost::SamplesPay(int64_t shard_bytes, int64_t shard_samples, int64_t samples, int64_t sample_bytes) const {
  if (shard_bytes < kLeastShardBytes || samples == 0) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (measures_ && shards_ < kFirstShards) {
    return false;
  }
  const auto seconds = [this](double waits, double bytes) {
    return waits * speed_.wait_seconds + bytes / speed_.bytes_per_second;
  };
  const SampleRead read = ReadOf(shard_bytes, samples, sample_bytes);
  const auto table_bytes = static_cast<double>(shard_samples) * sizeof(SampleRecord);
  const double waits = 1 + std::ceil(read.requests / kRequestsAtATime);
  return seconds(waits, table_bytes + read.bytes) < seconds(1, static_cast<double>(shard_bytes)) / 2;
}

}  // namespace assay::shards
