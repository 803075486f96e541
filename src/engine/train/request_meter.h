// Counts the requests of stores as their owners bill them.
#pragma once

#include <cstdint>
#include <mutex>

#include "storage/transfer/observer.h"

namespace assay::engine {

struct RequestTotals {
  int64_t reads = 0;   ///< GET and HEAD
  int64_t writes = 0;  ///< PUT, POST and listings; to remove is free everywhere, one object or many
  int64_t retries = 0;
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;

  RequestTotals since(const RequestTotals& before) const {
    return {.reads = reads - before.reads,
            .writes = writes - before.writes,
            .retries = retries - before.retries,
            .received_bytes = received_bytes - before.received_bytes,
            .sent_bytes = sent_bytes - before.sent_bytes};
  }
};

/// Safe from several threads.
class RequestMeter : public storage::RequestObserver {
 public:
  void OnRequest(const storage::RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    const bool lists = record.operation.starts_with("list");
    const bool writes = lists || record.method == "PUT" || record.method == "POST";
    totals_.reads += is_billed(record) && !lists && (record.method == "GET" || record.method == "HEAD") ? 1 : 0;
    totals_.writes += is_billed(record) && writes ? 1 : 0;
    totals_.retries += record.attempt > 1 ? 1 : 0;
    totals_.received_bytes += record.bytes_received;
    totals_.sent_bytes += record.bytes_sent;
  }
  RequestTotals totals() const {
    const std::lock_guard lock(mutex_);
    return totals_;
  }

 private:
  /// Nobody bills what came to nothing at the store's end, or never came there.
  static bool is_billed(const storage::RequestRecord& record) {
    return record.http_status != 0 && record.http_status < 500 && !record.operation.starts_with("remove");
  }

  mutable std::mutex mutex_;
  RequestTotals totals_;  // guarded by mutex_
};

}  // namespace assay::engine
