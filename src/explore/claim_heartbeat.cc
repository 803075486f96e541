#include "explore/claim_heartbeat.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace assay::explore {
namespace {

bool WaitOnTheClock(double seconds, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

ClaimHeartbeat::ClaimHeartbeat(samplestore::SampleStore& store, samplestore::MemoKey key, int64_t fence,
                               double lease_seconds, WaitFunction wait)
    : store_(store),
      key_(std::move(key)),
      fence_(fence),
      lease_seconds_(lease_seconds),
      wait_(wait ? std::move(wait) : WaitFunction(&WaitOnTheClock)),
      thread_([this](const std::stop_token& stop) { Beat(stop); }) {}

void ClaimHeartbeat::Beat(const std::stop_token& stop) {
  while (!lost_ && wait_(lease_seconds_ / 3, stop)) {
    // A store that cannot be written now may be again at the next beat; if not, recording the result says so.
    const Result<bool> held = store_.RenewClaim(key_, fence_, lease_seconds_);
    lost_ = held.ok() && !*held;
  }
}

}  // namespace assay::explore
