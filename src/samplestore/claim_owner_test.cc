#include "samplestore/claim_owner.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "samplestore/sample_store.h"

namespace assay::samplestore {
namespace {

TEST(ClaimOwnerTest, TheMachinesClockGrowsWhateverTheTimeOfDay) {
  const LeaseClock clock = MachineLeaseClock();
  EXPECT_FALSE(clock.epoch.empty());
  EXPECT_EQ(clock.epoch, MachineLeaseClock().epoch);
  const double before = clock.seconds();
  EXPECT_NEAR(before, MonotonicSeconds(), 60);
  EXPECT_GE(clock.seconds(), before);
}

TEST(ClaimOwnerTest, OwnersElsewhereAreNotJudged) {
  EXPECT_FALSE(OwnerIsGone(MakeClaimOwner()));
  EXPECT_FALSE(OwnerIsGone("host other-boot/pid:[1] 1 2 3"));
  EXPECT_FALSE(OwnerIsGone("somebody"));
}

TEST(ClaimOwnerTest, AProcessIsGoneWhenItIsAZombieOrItsIdIsAnotherOnes) {
  const std::string running = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0\n";
  const std::string zombie = "7 (a) b) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0\n";
  EXPECT_FALSE(ProcessIsGone(running, 0, "4711"));
  EXPECT_TRUE(ProcessIsGone(running, 0, "4710"));
  EXPECT_TRUE(ProcessIsGone(zombie, 0, "4711"));
}

// With hidepid, another user's process has no readable /proc/PID/stat: its lease decides.
TEST(ClaimOwnerTest, AProcessThatCannotBeReadIsGoneOnlyWhereItsIdIsFree) {
  EXPECT_TRUE(ProcessIsGone("", ESRCH, "4711"));
  EXPECT_FALSE(ProcessIsGone("", EPERM, "4711"));
  EXPECT_FALSE(ProcessIsGone("", 0, "4711"));
  std::string owner = MakeClaimOwner();
  const std::string pid = " " + std::to_string(getpid()) + " ";
  EXPECT_TRUE(OwnerIsGone(owner.replace(owner.find(pid), pid.size(), " 2147483647 ")));
}

}  // namespace
}  // namespace assay::samplestore
