#include "explore/claim_heartbeat.h"

#include <gmock/gmock.h>

#include <future>

#include "explore/testing.h"

namespace assay::explore {
namespace {

constexpr double kLease = 30;
const samplestore::MemoKey kKey = {"e", "a.1"};

/// The store's clock and the heartbeat's waits are the test's: nothing sleeps.
class ClaimHeartbeatTest : public testing::ExploreFixture {
 protected:
  void SetUp() override {
    ExploreFixture::SetUp();
    timed_store_ = samplestore::OpenStore(
                       "sqlite:///" + Path("timed.db"), samplestore::StoreAccess::kReadWrite,
                       {.clock = samplestore::LeaseClock{.epoch = "boot", .seconds = [this] { return now_.load(); }}})
                       .value();
    claim_ = timed_store_->TryClaim(kKey, "me", kLease, 1).value();
  }

  /// The first `beats` waits pass, each taking the clock so far; the next one lasts until the heartbeat ends.
  WaitFunction Waits(int beats) {
    return [this, beats](double seconds, const std::stop_token& stop) {
      if (waits_ == beats) {
        beaten_.set_value();
      }
      if (waits_++ < beats) {
        now_ = now_ + seconds;
        return true;
      }
      std::promise<void> stopped;
      const std::stop_callback callback(stop, [&] { stopped.set_value(); });
      stopped.get_future().wait();
      return false;
    };
  }

  std::atomic<double> now_ = 0;
  int waits_ = 0;
  std::promise<void> beaten_;
  std::unique_ptr<samplestore::SampleStore> timed_store_;
  samplestore::Claim claim_;
};

TEST_F(ClaimHeartbeatTest, KeepsAClaimBeyondItsLease) {
  {
    const ClaimHeartbeat heartbeat(*timed_store_, kKey, claim_.fence, kLease, Waits(10));
    beaten_.get_future().wait();
    EXPECT_GT(now_, 3 * kLease);
    EXPECT_EQ(timed_store_->TryClaim(kKey, "other", kLease, 1)->result, samplestore::ClaimResult::kBusy);
    EXPECT_FALSE(heartbeat.lost());
  }
  now_ = now_ + 1.1 * kLease;
  EXPECT_EQ(timed_store_->TryClaim(kKey, "other", kLease, 1)->result, samplestore::ClaimResult::kClaimed);
}

TEST_F(ClaimHeartbeatTest, FindsThatItsClaimIsLost) {
  now_ = 1.1 * kLease;  // its process was stopped
  ASSERT_EQ(timed_store_->TryClaim(kKey, "other", kLease, 1)->result, samplestore::ClaimResult::kClaimed);
  const auto wait = [this](double, const std::stop_token&) { return waits_++ == 0; };
  ClaimHeartbeat heartbeat(*timed_store_, kKey, claim_.fence, kLease, wait);
  while (!heartbeat.lost()) {
    std::this_thread::yield();
  }
}

TEST_F(ClaimHeartbeatTest, EndsAtOnceOnItsOwnClock) {
  const ClaimHeartbeat heartbeat(*timed_store_, kKey, claim_.fence, 1e6);
}

}  // namespace
}  // namespace assay::explore
