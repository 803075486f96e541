#include "storage/transfer/retry.h"

#include <algorithm>
#include <cmath>

namespace assay::storage {
namespace {

constexpr int kBudgetTokens = 500;
constexpr int kRetryCost = 2;

/// How a class of failure is tried again.
struct RetryRow {
  FailureClass kind;
  double base_seconds;
  int max_attempts;  ///< 0: the user's limit
};

constexpr double kCapSeconds = 20;

constexpr RetryRow kRetries[] = {
    {FailureClass::kThrottle, 0.2, 0}, {FailureClass::kServer, 0.05, 0},  {FailureClass::kConnect, 0.05, 4},
    {FailureClass::kReset, 0.05, 0},   {FailureClass::kTimeout, 0.05, 0}, {FailureClass::kStall, 0.05, 0},
    {FailureClass::kCorrupt, 0.05, 4}, {FailureClass::kBusy, 0.1, 0},
};

}  // namespace

bool RetryBudget::Spend() {
  const std::lock_guard lock(mutex_);
  if (tokens_ < kRetryCost) {
    return false;
  }
  tokens_ -= kRetryCost;
  return true;
}

void RetryBudget::Earn() {
  const std::lock_guard lock(mutex_);
  tokens_ = std::min(kBudgetTokens, tokens_ + 1);
}

std::optional<double> RetryDelay(const Failure& failure, const AttemptHistory& history, int max_attempts,
                                 std::mt19937_64& random) {
  if (failure.kind == FailureClass::kExpired) {
    return history.expired <= 2 ? std::optional<double>(0) : std::nullopt;
  }
  if (failure.kind == FailureClass::kClockSkew) {
    return history.clock_skew <= 1 ? std::optional<double>(0) : std::nullopt;
  }
  const auto* row = std::find_if(std::begin(kRetries), std::end(kRetries),
                                 [&failure](const RetryRow& r) { return r.kind == failure.kind; });
  if (row == std::end(kRetries)) {
    return std::nullopt;
  }
  const int limit = row->max_attempts == 0 ? max_attempts : std::min(max_attempts, row->max_attempts);
  if (history.attempts >= limit || failure.retry_after_seconds > kMaxRetryAfterSeconds) {
    return std::nullopt;
  }
  const double ceiling = std::min(kCapSeconds, std::ldexp(row->base_seconds, history.attempts - 1));
  const double wait = std::uniform_real_distribution<double>(0, ceiling)(random);
  return std::max(wait, failure.retry_after_seconds);
}

}  // namespace assay::storage
