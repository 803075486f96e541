// Counts what a store does: operations as callers ask for them, and the requests that they become.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "storage/decorator/intercepting_store.h"
#include "storage/transfer/observer.h"

namespace assay::storage {

/// Durations in buckets, eight to a doubling, from 100 microseconds on; the last holds all above.
class LatencyHistogram {
 public:
  static constexpr int kBucketsPerDoubling = 8;
  static constexpr int kBuckets = 23 * kBucketsPerDoubling + 1;
  void Add(double seconds);
  int64_t count() const { return count_; }
  /// The upper end of the bucket in which the quantile `q` lies; 0 where nothing was added.
  double Quantile(double q) const;
  const std::array<int64_t, kBuckets>& buckets() const { return buckets_; }
  /// In seconds; infinite for the last.
  static double UpperEnd(int bucket);

 private:
  std::array<int64_t, kBuckets> buckets_{};
  int64_t count_ = 0;
};

/// Of an operation ("read", "write").
struct OperationCounts {
  int64_t calls = 0;
  int64_t errors = 0;
  int64_t bytes = 0;  ///< of calls that succeeded
  LatencyHistogram latency;
};

struct StoreCounts {
  std::map<std::string, OperationCounts> operations;
  /// By method and HTTP status; 0: no answer came.
  std::map<std::pair<std::string, int>, int64_t> requests;
  LatencyHistogram request_latency;     ///< until the end of the answer
  LatencyHistogram first_byte_latency;  ///< of requests that were answered
  int64_t retries = 0;
  int64_t reissues = 0;     ///< second copies of slow requests
  int64_t connections = 0;  ///< opened
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;  ///< bodies of answers, whatever became of them
  int64_t bytes_asked = 0;     ///< by readers
  int64_t bytes_used = 0;      ///< that reached readers; received over used is the amplification

  nlohmann::json ToJson() const;
};

/// Given to a store as StoreOptions::observer it counts requests, given to a CountingStore operations. All members may
/// be called from any thread.
class StoreCounters : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override;
  void OnOperation(const StoreOperation& operation, const Status& status, double seconds);
  StoreCounts Snapshot() const;

 private:
  mutable std::mutex mutex_;
  StoreCounts counts_;  // guarded by mutex_
};

class CountingStore final : public InterceptingStore {
 public:
  CountingStore(std::shared_ptr<ObjectStore> inner, std::shared_ptr<StoreCounters> counters)
      : InterceptingStore(std::move(inner)), counters_(std::move(counters)) {}

 protected:
  Status Before(const StoreOperation& operation) override;
  Status After(const StoreOperation& operation, Status status) override;

 private:
  const std::shared_ptr<StoreCounters> counters_;
};

}  // namespace assay::storage
