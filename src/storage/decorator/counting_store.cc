#include "storage/decorator/counting_store.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"

namespace assay::storage {
namespace {

constexpr double kFirstUpperEnd = 1e-4;

// When the operations that this thread is in began: one may be within another's callback.
thread_local std::vector<double> begun;

nlohmann::json JsonOf(const LatencyHistogram& histogram) {
  return {{"count", histogram.count()},
          {"p50_seconds", histogram.Quantile(0.5)},
          {"p90_seconds", histogram.Quantile(0.9)},
          {"p99_seconds", histogram.Quantile(0.99)}};
}

}  // namespace

double LatencyHistogram::UpperEnd(int bucket) {
  return bucket == kBuckets - 1 ? std::numeric_limits<double>::infinity()
                                : kFirstUpperEnd * std::exp2(static_cast<double>(bucket) / kBucketsPerDoubling);
}

void LatencyHistogram::Add(double seconds) {
  const double bucket =
      seconds <= kFirstUpperEnd ? 0 : std::ceil(std::log2(seconds / kFirstUpperEnd) * kBucketsPerDoubling);
  ++buckets_[static_cast<size_t>(std::min<double>(bucket, kBuckets - 1))];
  ++count_;
}

double LatencyHistogram::Quantile(double q) const {
  int64_t below = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    below += buckets_[static_cast<size_t>(bucket)];
    if (below > 0 && static_cast<double>(below) >= q * static_cast<double>(count_)) {
      return UpperEnd(bucket);
    }
  }
  return 0;
}

nlohmann::json StoreCounts::ToJson() const {
  nlohmann::json json = {{"retries", retries},
                         {"reissues", reissues},
                         {"connections", connections},
                         {"bytes_sent", bytes_sent},
                         {"bytes_received", bytes_received},
                         {"bytes_asked", bytes_asked},
                         {"bytes_used", bytes_used},
                         {"request_latency", JsonOf(request_latency)},
                         {"first_byte_latency", JsonOf(first_byte_latency)},
                         {"requests", nlohmann::json::array()},
                         {"operations", nlohmann::json::object()}};
  for (const auto& [kind, count] : requests) {
    json["requests"].push_back({{"method", kind.first}, {"status", kind.second}, {"count", count}});
  }
  for (const auto& [name, counts] : operations) {
    json["operations"][name] = {{"calls", counts.calls},
                                {"errors", counts.errors},
                                {"bytes", counts.bytes},
                                {"latency", JsonOf(counts.latency)}};
  }
  return json;
}

void StoreCounters::OnRequest(const RequestRecord& record) {
  const std::lock_guard lock(mutex_);
  ++counts_.requests[{std::string(record.method), record.http_status}];
  counts_.request_latency.Add(record.total_seconds);
  if (record.http_status != 0) {
    counts_.first_byte_latency.Add(record.first_byte_seconds);
  }
  counts_.retries += record.attempt > 1 && !record.reissue ? 1 : 0;
  counts_.reissues += record.reissue ? 1 : 0;
  counts_.connections += record.new_connection ? 1 : 0;
  counts_.bytes_sent += record.bytes_sent;
  counts_.bytes_received += record.bytes_received;
}

void StoreCounters::OnOperation(const StoreOperation& operation, const Status& status, double seconds) {
  const std::lock_guard lock(mutex_);
  OperationCounts& counts = counts_.operations[std::string(operation.name)];
  ++counts.calls;
  counts.errors += status.ok() ? 0 : 1;
  counts.bytes += status.ok() ? operation.bytes : 0;
  counts.latency.Add(seconds);
  if (operation.reads) {
    counts_.bytes_asked += operation.bytes;
    counts_.bytes_used += status.ok() ? operation.bytes : 0;
  }
}

StoreCounts StoreCounters::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Status CountingStore::Before(const StoreOperation&) {
  begun.push_back(MonotonicSeconds());
  return Status::Ok();
}

Status CountingStore::After(const StoreOperation& operation, Status status) {
  counters_->OnOperation(operation, status, MonotonicSeconds() - begun.back());
  begun.pop_back();
  return status;
}

}  // namespace assay::storage
