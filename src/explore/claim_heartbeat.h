// Keeps a claim alive while its point is measured.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

#include "samplestore/sample_store.h"

namespace assay::explore {

/// Waits so many seconds; false at once when a stop is requested meanwhile.
using WaitFunction = std::function<bool(double seconds, const std::stop_token& stop)>;

/// A thread that renews a claim three times a lease, until it is destroyed or the claim is lost. `store` must outlive
/// it. `wait` empty: on the monotonic clock.
class ClaimHeartbeat {
 public:
  ClaimHeartbeat(samplestore::SampleStore& store, samplestore::MemoKey key, int64_t fence, double lease_seconds,
                 WaitFunction wait = {});

  /// Whether the claim has passed to somebody else: what is measured now will be refused.
  bool lost() const { return lost_; }

 private:
  void Beat(const std::stop_token& stop);

  samplestore::SampleStore& store_;
  samplestore::MemoKey key_;
  int64_t fence_;
  double lease_seconds_;
  WaitFunction wait_;
  std::atomic<bool> lost_ = false;
  std::jthread thread_;  ///< last, so that it ends before what it uses
};

}  // namespace assay::explore
