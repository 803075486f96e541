// When a failed request is sent again.
//
// Exponential with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015): the wait before attempt
// n + 1 is uniform in [0, min(cap, base * 2^(n - 1))], never less than the store asked for; where it asks for more than
// kMaxRetryAfterSeconds, there is no other attempt. Throttling starts from a longer base. Expired credentials and a
// wrong clock are corrected and tried again at once, twice and once. What would end the same way is not tried again.
#pragma once

#include <mutex>
#include <optional>
#include <random>

#include "storage/transfer/failure.h"

namespace assay::storage {

/// Retries that a store as a whole may spend, so that an outage is not answered with a storm: each costs two tokens of
/// 500, each success gives one back.
class RetryBudget {
 public:
  bool Spend();
  void Earn();

 private:
  std::mutex mutex_;
  int tokens_ = 500;  // guarded by mutex_
};

/// Attempts of one call so far.
struct AttemptHistory {
  int attempts = 0;
  int expired = 0;
  int clock_skew = 0;
};

/// Seconds to wait before the next attempt; nothing when there should be none. `max_attempts` is the user's limit.
std::optional<double> RetryDelay(const Failure& failure, const AttemptHistory& history, int max_attempts,
                                 std::mt19937_64& random);

}  // namespace assay::storage
