// Claims: of threads, of processes, and of processes that died.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "samplestore/claim_owner.h"
#include "samplestore/sample_store.h"

namespace assay::samplestore {
namespace {

constexpr double kLease = 60;
const MemoKey kKey = {"e", "a.1"};

Measurement Of(const MemoKey& key, Outcome outcome) {
  Measurement measurement;
  measurement.uid = RandomUid();
  measurement.experiment = key.parameterized_id;
  measurement.parameterized_id = key.parameterized_id;
  measurement.entity_id = key.entity_id;
  measurement.outcome = outcome;
  measurement.measured_at = UtcTimestamp();
  return measurement;
}

class ClaimsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("claims");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    store_ = Open();
  }

  std::unique_ptr<SampleStore> Open() { return *OpenStore("sqlite:///" + directory_->path() + "/runs.db"); }

  /// Runs `body` with a store of its own in a child process and returns its exit code.
  template <typename Body>
  int InChild(Body body) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(body(*Open()));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<SampleStore> store_;
};

TEST_F(ClaimsTest, OneOwnerAtATime) {
  EXPECT_EQ(*store_->TryClaim(kKey, "a", kLease, 1), ClaimResult::kClaimed);
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kBusy);
  EXPECT_EQ(*store_->TryClaim(kKey, "a", kLease, 1), ClaimResult::kClaimed);
  EXPECT_EQ(*store_->TryClaim({"e", "a.2"}, "b", kLease, 1), ClaimResult::kClaimed);
}

TEST_F(ClaimsTest, ReleasingIsForTheOwner) {
  ASSERT_EQ(*store_->TryClaim(kKey, "a", kLease, 1), ClaimResult::kClaimed);
  ASSERT_TRUE(store_->ReleaseClaim(kKey, "b").ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kBusy);
  ASSERT_TRUE(store_->ReleaseClaim(kKey, "a").ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kClaimed);
}

TEST_F(ClaimsTest, AMeasurementEndsTheClaim) {
  ASSERT_EQ(*store_->TryClaim(kKey, "a", kLease, 1), ClaimResult::kClaimed);
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kInvalid)).ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kMeasured);
}

TEST_F(ClaimsTest, APointIsClaimedUntilItHasAsManyValidMeasurementsAsWanted) {
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kValid)).ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "a", kLease, 1), ClaimResult::kMeasured);
  ASSERT_EQ(*store_->TryClaim(kKey, "a", kLease, 2), ClaimResult::kClaimed);
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 2), ClaimResult::kBusy);
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kValid)).ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 2), ClaimResult::kMeasured);
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kInvalid)).ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 3), ClaimResult::kMeasured);
}

TEST_F(ClaimsTest, AFailureEndsTheClaimAndLeavesThePointOpen) {
  ASSERT_EQ(*store_->TryClaim(kKey, "a", kLease, 1), ClaimResult::kClaimed);
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kFailed)).ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kClaimed);
}

TEST_F(ClaimsTest, ALeaseEndsUnlessItIsRenewed) {
  constexpr double kShort = 0.05;
  ASSERT_EQ(*store_->TryClaim(kKey, "a", kShort, 1), ClaimResult::kClaimed);
  ASSERT_TRUE(store_->RenewClaims("a", kLease).ok());
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * kShort));
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kBusy);
  ASSERT_TRUE(store_->RenewClaims("a", -1).ok());
  EXPECT_EQ(*store_->TryClaim(kKey, "b", kLease, 1), ClaimResult::kClaimed);
}

TEST_F(ClaimsTest, TheClaimOfADeadProcessCountsForNothing) {
  const int exit_code = InChild([](SampleStore& store) {
    return *store.TryClaim(kKey, MakeClaimOwner(), kLease, 1) == ClaimResult::kClaimed ? 0 : 1;
  });
  ASSERT_EQ(exit_code, 0);
  EXPECT_EQ(*store_->TryClaim(kKey, MakeClaimOwner(), kLease, 1), ClaimResult::kClaimed);
}

TEST_F(ClaimsTest, TheClaimOfALivingProcessCounts) {
  ASSERT_EQ(*store_->TryClaim(kKey, MakeClaimOwner(), kLease, 1), ClaimResult::kClaimed);
  EXPECT_EQ(InChild([](SampleStore& store) {
              return *store.TryClaim(kKey, MakeClaimOwner(), kLease, 1) == ClaimResult::kBusy ? 0 : 1;
            }),
            0);
}

TEST_F(ClaimsTest, OwnersElsewhereAreNotJudged) {
  EXPECT_FALSE(OwnerIsGone(MakeClaimOwner()));
  EXPECT_FALSE(OwnerIsGone("host other-boot/pid:[1] 1 2 3"));
  EXPECT_FALSE(OwnerIsGone("somebody"));
}

// Two processes and two threads in each run over the same points; each point must be measured by exactly one of them.
TEST_F(ClaimsTest, NoPointIsMeasuredTwice) {
  constexpr int kPoints = 40;
  const auto work = [](SampleStore& store) {
    std::atomic<int> errors = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&] {
        const std::string owner = MakeClaimOwner();
        for (int point = 0; point < kPoints; ++point) {
          const MemoKey key = {"e", std::to_string(point)};
          const auto claim = store.TryClaim(key, owner, kLease, 1);
          const bool append = claim.ok() && *claim == ClaimResult::kClaimed;
          errors += !claim.ok() || (append && !store.Append(Of(key, Outcome::kValid)).ok());
        }
      });
    }
    threads.clear();
    return errors.load();
  };
  const pid_t child = fork();
  if (child == 0) {
    _exit(work(*Open()));
  }
  EXPECT_EQ(work(*Open()), 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*store_->Count({}), kPoints);
}

}  // namespace
}  // namespace assay::samplestore
