// A bandwidth cap that all transfers of a client share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace assay::http {

/// Tokens are bytes. Takes are never refused: they leave a debt, and the next one waits until it is paid. Any
/// thread may call.
class TokenBucket {
 public:
  /// `bytes_per_s` of 0: no cap. A fiftieth of a second's bytes may pass at once.
  TokenBucket(int64_t bytes_per_s, double now_seconds)
      : rate_(static_cast<double>(bytes_per_s)), tokens_(rate_ / 50), last_seconds_(now_seconds) {}

  bool unlimited() const { return rate_ <= 0; }
  void Take(int64_t bytes) {
    if (!unlimited()) {
      const std::lock_guard lock(mutex_);
      tokens_ -= static_cast<double>(bytes);
    }
  }

  /// How long until more may be taken; 0 when it may be now.
  double WaitSeconds(double now_seconds) {
    if (unlimited()) {
      return 0;
    }
    const std::lock_guard lock(mutex_);
    tokens_ = std::min(rate_ / 50, tokens_ + std::max(0.0, now_seconds - last_seconds_) * rate_);
    last_seconds_ = std::max(last_seconds_, now_seconds);
    return tokens_ > 0 ? 0 : -tokens_ / rate_ + 1e-4;
  }

 private:
  const double rate_;
  std::mutex mutex_;
  double tokens_;        // guarded by mutex_
  double last_seconds_;  // guarded by mutex_
};

}  // namespace assay::http
