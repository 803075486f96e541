// Keeps credentials fresh: loaded once for many threads, again before they expire, and when a store refuses them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/status.h"
#include "storage/auth/signer.h"

namespace assay::storage {

/// Credentials of type T, which has `double expires` (seconds since 1970; 0: never). All members may be called from any
/// thread.
template <typename T>
class CredentialCache {
 public:
  /// Time left at which a refresh is tried, though the old ones still serve should it fail; and at which it must work.
  static constexpr double kAdvisorySeconds = 15 * 60;
  static constexpr double kMandatorySeconds = 5 * 60;
  /// After an early refresh, the next one waits so long: services hand out what has little time left, too.
  static constexpr double kRetrySeconds = 60;
  /// Refusals of what was signed before the last refresh come in late: Expire() is deaf so long after one.
  static constexpr double kSettleSeconds = 3;

  CredentialCache(std::function<Result<T>()> load, std::function<double()> now)
      : load_(std::move(load)), now_(std::move(now)) {}

  /// Returns with credentials that serve, or with the error of loading them. One thread loads; others wait for it, or
  /// go on with what is there while that is still good.
  Status Prepare() {
    {
      const std::lock_guard lock(state_mutex_);
      if (!MustLoad() && !ShouldLoad()) {
        return Status::Ok();
      }
    }
    std::unique_lock loading(load_mutex_, std::defer_lock);
    if (!loading.try_lock()) {
      {
        const std::lock_guard lock(state_mutex_);
        if (!MustLoad()) {
          return Status::Ok();
        }
      }
      loading.lock();
    }
    return LoadIfStillDue();
  }

  Signer::Need need() const {
    const std::lock_guard lock(state_mutex_);
    if (current_ == nullptr || refused_ || IsWithin(0)) {
      return Signer::Need::kMust;
    }
    return MustLoad() || ShouldLoad() ? Signer::Need::kMay : Signer::Need::kNothing;
  }

  /// Null before the first Prepare() that worked.
  std::shared_ptr<const T> Current() const {
    const std::lock_guard lock(state_mutex_);
    return current_;
  }

  void Expire() {
    const std::lock_guard lock(state_mutex_);
    refused_ = refused_ || now_() - loaded_at_ >= kSettleSeconds;
  }

 private:
  // Both need state_mutex_.
  bool MustLoad() const {
    return current_ == nullptr || refused_ || IsWithin(0) ||
           (IsWithin(kMandatorySeconds) && now_() >= next_early_load_);
  }
  bool ShouldLoad() const { return IsWithin(kAdvisorySeconds) && now_() >= next_early_load_; }
  // Whether the end is so near.
  bool IsWithin(double seconds) const {
    return current_ != nullptr && current_->expires > 0 && now_() > current_->expires - seconds;
  }

  // Needs load_mutex_.
  Status LoadIfStillDue() {
    bool required;
    {
      const std::lock_guard lock(state_mutex_);
      required = MustLoad();
      if (!required && !ShouldLoad()) {
        return Status::Ok();
      }
    }
    Result<T> loaded = load_();
    const std::lock_guard lock(state_mutex_);
    if (!loaded.ok()) {
      next_early_load_ = now_() + kRetrySeconds;
      return required && !StillServes() ? loaded.status() : Status::Ok();
    }
    current_ = std::make_shared<const T>(std::move(loaded).value());
    refused_ = false;
    loaded_at_ = now_();
    next_early_load_ = loaded_at_ + kRetrySeconds;
    return Status::Ok();
  }
  // Credentials near their end are better than none.
  bool StillServes() const { return current_ != nullptr && !refused_ && now_() < current_->expires; }

  const std::function<Result<T>()> load_;
  const std::function<double()> now_;
  std::mutex load_mutex_;  // held while loading; taken before state_mutex_
  mutable std::mutex state_mutex_;
  std::shared_ptr<const T> current_;
  bool refused_ = false;
  double loaded_at_ = 0;
  double next_early_load_ = 0;
};

}  // namespace assay::storage
