// A request of a store with what happens to its answer, and what the calls of a store share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/client.h"
#include "storage/auth/signer.h"
#include "storage/options.h"
#include "storage/transfer/dialect.h"
#include "storage/transfer/latency_tracker.h"
#include "storage/transfer/observer.h"
#include "storage/transfer/retry.h"

namespace assay::storage {

class CallEngine;  // storage/transfer/call_engine.h
class MemoryPool;  // storage/memory_pool.h

/// What the calls of a store share. Not owned.
struct CallContext {
  http::Client* client = nullptr;
  CallEngine* engine = nullptr;
  Signer* signer = nullptr;
  const ReadDialect* dialect = nullptr;
  const Dialect* writing = nullptr;  ///< the same; null where the store only reads
  const StoreOptions* options = nullptr;
  MemoryPool* memory = nullptr;
  RetryBudget* budget = nullptr;
  LatencyTracker* latencies = nullptr;
  RequestObserver* observer = nullptr;  ///< may be null
};

/// One try of a call. Everything in it lives until the client has let go of it.
struct Attempt {
  int number = 1;
  bool reissue = false;  ///< beside another attempt that is slow: it must not write where that one may
  Outgoing outgoing;
  std::string url;  ///< that was asked
  std::unique_ptr<ChecksumSource> body;
  std::unique_ptr<http::BodySink> sink;
  /// What a sink had against the answer, when it refused it.
  std::optional<Failure> refusal;
  /// Or it has refused what is left of one that has told all that was asked.
  bool satisfied = false;
};

struct CallResult {
  Status status;
  std::optional<Failure> failure;  ///< set with an error
  int attempts = 1;                ///< that `failure` is the end of
};

/// Its members are called on the store's thread, one call's at a time, and must not use the store.
class StoreCall {
 public:
  virtual ~StoreCall() = default;
  /// Reads on after "cannot": "get bytes 0 to 8388607 of".
  virtual std::string operation() const = 0;
  virtual const std::string& key() const = 0;
  /// Fills `outgoing`, and `body` and `sink` as needed. Called for each attempt.
  virtual void Prepare(Attempt& attempt) = 0;
  /// Which statuses are answers; others are failures.
  virtual bool IsAnswer(int http_status) const { return http_status / 100 == 2; }
  /// An answer came and no other attempt of the call is on its way any more. A failure may lead to another attempt.
  virtual std::optional<Failure> Accept(Attempt& attempt, http::Response& response) = 0;
  /// Once, at the end.
  virtual void Done(const CallResult& result) {}
  /// Set for calls that move much: a slow one is sent a second time.
  virtual std::optional<std::pair<Direction, int64_t>> volume() const { return std::nullopt; }
  /// Before that; false where there is nothing to do it with.
  virtual bool PrepareReissue() { return true; }
};

}  // namespace assay::storage
