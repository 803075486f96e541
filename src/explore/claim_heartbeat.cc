#include "explore/claim_heartbeat.h"

#include <chrono>
#include <utility>

namespace assay::explore {

ClaimHeartbeat::ClaimHeartbeat(samplestore::SampleStore& store, std::string owner, double lease_seconds)
    : store_(store),
      owner_(std::move(owner)),
      lease_seconds_(lease_seconds),
      thread_([this](const std::stop_token& stop) { Beat(stop); }) {}

void ClaimHeartbeat::Beat(const std::stop_token& stop) {
  const auto pause = std::chrono::duration<double>(lease_seconds_ / 3);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, pause, [] { return false; }) && !stop.stop_requested()) {
    // A store that cannot be written now may be again at the next beat; if not, recording the result says so.
    static_cast<void>(store_.RenewClaims(owner_, lease_seconds_));
  }
}

}  // namespace assay::explore
