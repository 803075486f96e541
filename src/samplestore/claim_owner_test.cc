#include "samplestore/claim_owner.h"

#include <gmock/gmock.h>
#include <unistd.h>

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

TEST(ClaimOwnerTest, AnOwnerWhoseIdIsFreeIsGone) {
  std::string owner = MakeClaimOwner();
  const std::string pid = " " + std::to_string(getpid()) + " ";
  EXPECT_TRUE(OwnerIsGone(owner.replace(owner.find(pid), pid.size(), " 2147483647 ")));
}

}  // namespace
}  // namespace assay::samplestore
