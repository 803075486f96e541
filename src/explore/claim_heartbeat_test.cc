#include "explore/claim_heartbeat.h"

#include <gmock/gmock.h>

#include <chrono>

#include "explore/testing.h"

namespace assay::explore {
namespace {

class ClaimHeartbeatTest : public testing::ExploreFixture {};

TEST_F(ClaimHeartbeatTest, KeepsAClaimBeyondItsLease) {
  constexpr double kLease = 0.5;
  const samplestore::MemoKey key = {"e", "a.1"};
  ASSERT_EQ(*store_->TryClaim(key, "me", kLease, 1), samplestore::ClaimResult::kClaimed);
  {
    const ClaimHeartbeat heartbeat(*store_, "me", kLease);
    std::this_thread::sleep_for(std::chrono::duration<double>(2 * kLease));
    EXPECT_EQ(*store_->TryClaim(key, "other", kLease, 1), samplestore::ClaimResult::kBusy);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * kLease));
  EXPECT_EQ(*store_->TryClaim(key, "other", kLease, 1), samplestore::ClaimResult::kClaimed);
}

TEST_F(ClaimHeartbeatTest, EndsAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  {
    const ClaimHeartbeat heartbeat(*store_, "me", 3600);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace assay::explore
