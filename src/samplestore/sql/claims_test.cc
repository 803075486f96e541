// Claims, whatever the database: of threads, of processes, of processes that died and of processes that stood still.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "samplestore/claim_owner.h"
#include "samplestore/sample_store.h"
#include "samplestore/testing/store_target.h"

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
  if (outcome == Outcome::kInvalid) {
    measurement.depends_on = {{kJudgedBy, "1"}};
  }
  measurement.measured_at = UtcTimestamp();
  return measurement;
}

class ClaimsTest : public testing::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    store_ = OpenInEpoch("boot");
  }

  /// On a clock that the test sets.
  std::unique_ptr<SampleStore> OpenInEpoch(const std::string& epoch) {
    return Open({.clock = LeaseClock{.epoch = epoch, .seconds = [this] { return now_; }}});
  }

  Claim Try(std::string_view owner, int64_t wanted = 1, const Facts& here = {}) {
    return *store_->TryClaim(kKey, owner, kLease, wanted, here);
  }
  ClaimResult ResultOf(std::string_view owner, int64_t wanted = 1) { return Try(owner, wanted).result; }

  /// Runs `body` with a store of its own in a child process and returns its exit code.
  template <typename Body>
  int InChild(Body body) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(body(*OpenInEpoch("boot")));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  double now_ = 1000;
};
ASSAY_FOR_EACH_STORE(ClaimsTest);

TEST_P(ClaimsTest, OneOwnerAtATime) {
  EXPECT_EQ(ResultOf("a"), ClaimResult::kClaimed);
  EXPECT_EQ(ResultOf("b"), ClaimResult::kBusy);
  EXPECT_EQ(ResultOf("a"), ClaimResult::kClaimed);
  EXPECT_EQ(store_->TryClaim({"e", "a.2"}, "b", kLease, 1)->result, ClaimResult::kClaimed);
}

TEST_P(ClaimsTest, EachClaimHasALargerNumber) {
  const int64_t first = Try("a").fence;
  EXPECT_GT(first, 0);
  EXPECT_EQ(Try("a").fence, first);
  ASSERT_TRUE(store_->ReleaseClaim(kKey, first).ok());
  const int64_t second = Try("a").fence;
  EXPECT_GT(second, first);
  EXPECT_GT(store_->TryClaim({"e", "a.2"}, "b", kLease, 1)->fence, second);
}

TEST_P(ClaimsTest, ReleasingIsForTheOwner) {
  const Claim claim = Try("a");
  ASSERT_TRUE(store_->ReleaseClaim(kKey, claim.fence + 1).ok());
  EXPECT_EQ(ResultOf("b"), ClaimResult::kBusy);
  ASSERT_TRUE(store_->ReleaseClaim(kKey, claim.fence).ok());
  EXPECT_EQ(ResultOf("b"), ClaimResult::kClaimed);
}

TEST_P(ClaimsTest, AMeasurementEndsItsClaim) {
  const Claim claim = Try("a");
  EXPECT_EQ(*store_->AppendClaimed(Of(kKey, Outcome::kInvalid), claim.fence), AppendResult::kAdded);
  EXPECT_EQ(ResultOf("b"), ClaimResult::kMeasured);
}

TEST_P(ClaimsTest, AMeasurementWithoutAClaimEndsNobodys) {
  const Claim claim = Try("a");
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kFailed)).ok());
  EXPECT_EQ(ResultOf("b"), ClaimResult::kBusy);
  EXPECT_EQ(*store_->AppendClaimed(Of(kKey, Outcome::kValid), claim.fence), AppendResult::kAdded);
}

// The owner was stopped for longer than its lease, and goes on beside the one who took its claim.
TEST_P(ClaimsTest, AMeasurementThatComesTooLateIsRefusedAndLogged) {
  const Claim stopped = Try("a");
  now_ += kLease + 1;
  const Claim taken = Try("b");
  ASSERT_EQ(taken.result, ClaimResult::kClaimed);
  EXPECT_FALSE(FileExists(store_->RefusedFile()));
  const Measurement late = Of(kKey, Outcome::kValid);
  EXPECT_EQ(*store_->AppendClaimed(late, stopped.fence), AppendResult::kRefused);
  EXPECT_EQ(*store_->Count({}), 0);
  EXPECT_NE(ReadFile(store_->RefusedFile())->find(late.uid), std::string::npos);
  EXPECT_EQ(ResultOf("c"), ClaimResult::kBusy);
  EXPECT_EQ(*store_->AppendClaimed(Of(kKey, Outcome::kValid), taken.fence), AppendResult::kAdded);
  EXPECT_EQ(*store_->AppendClaimed(Of(kKey, Outcome::kValid), stopped.fence), AppendResult::kRefused);
  EXPECT_EQ(*store_->Count({}), 1);
}

// As a full disk, or a program that changed the tables, would leave it.
TEST_P(ClaimsTest, AMeasurementThatTheStoreCannotKeepIsLoggedWhateverTheReason) {
  const Claim claim = Try("a");
  Measurement lost = Of(kKey, Outcome::kValid);
  lost.series = {{"loss", {2, 1}}};
  ASSERT_TRUE(target_->Execute("DROP TABLE contents").ok());
  const Status claimed = store_->AppendClaimed(lost, claim.fence).status();
  EXPECT_THAT(claimed.message(), ::testing::AllOf(::testing::HasSubstr("contents"),
                                                  ::testing::HasSubstr("is in " + store_->RefusedFile())));
  EXPECT_FALSE(store_->Append(lost).ok());
  EXPECT_EQ(*store_->Count({}), 0);
  const std::string log = *ReadFile(store_->RefusedFile());
  ASSERT_EQ(std::ranges::count(log, '\n'), 2);
  const auto kept = MeasurementFromJson(*ParseJson(log.substr(0, log.find('\n')), "log"));
  EXPECT_EQ(ToJson(*kept), ToJson(lost));
}

// As on a disk that is full, and then is not.
TEST_P(ClaimsTest, AMeasurementThatTheLogCannotKeepLeavesNoHalfLine) {
  ASSERT_TRUE(target_->Execute("DROP TABLE contents").ok());
  const auto refuse = [this] {
    Measurement lost = Of(kKey, Outcome::kValid);
    lost.series = {{"loss", {2, 1}}};
    return store_->Append(lost);
  };
  ASSERT_FALSE(refuse().ok());
  const std::string first = *ReadFile(store_->RefusedFile());
  rlimit unlimited = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit full = {.rlim_cur = first.size() + 10, .rlim_max = unlimited.rlim_max};
  const auto on_full_disk = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const Status status = refuse();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, on_full_disk);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("write a refused measurement to"));
  EXPECT_EQ(*ReadFile(store_->RefusedFile()), first);
  ASSERT_FALSE(refuse().ok());
  const std::string log = *ReadFile(store_->RefusedFile());
  EXPECT_TRUE(log.starts_with(first));
  EXPECT_TRUE(ParseJson(log.substr(first.size()), "log").ok());
}

TEST_P(ClaimsTest, APointIsClaimedUntilItHasAsManyValidMeasurementsAsWanted) {
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kValid)).ok());
  EXPECT_EQ(ResultOf("a"), ClaimResult::kMeasured);
  const Claim claim = Try("a", 2);
  ASSERT_EQ(claim.result, ClaimResult::kClaimed);
  EXPECT_EQ(ResultOf("b", 2), ClaimResult::kBusy);
  ASSERT_TRUE(store_->AppendClaimed(Of(kKey, Outcome::kValid), claim.fence).ok());
  EXPECT_EQ(ResultOf("b", 2), ClaimResult::kMeasured);
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kInvalid)).ok());
  EXPECT_EQ(ResultOf("b", 3), ClaimResult::kMeasured);
}

TEST_P(ClaimsTest, OnlyMeasurementsThatHoldHereCount) {
  Measurement elsewhere = Of(kKey, Outcome::kInvalid);
  elsewhere.depends_on = {{"machine", "large"}, {"commit", "1"}, {"libtorch", "2"}};
  ASSERT_TRUE(store_->Append(elsewhere).ok());
  EXPECT_TRUE(*store_->IsMeasured(kKey, 1, {{"machine", "large"}, {"commit", "1"}}));
  EXPECT_TRUE(*store_->IsMeasured(kKey, 1, {{"machine", "large"}}));
  EXPECT_FALSE(*store_->IsMeasured(kKey, 1, {{"machine", "small"}}));
  EXPECT_EQ(Try("a", 1, {{"machine", "small"}}).result, ClaimResult::kClaimed);
  EXPECT_FALSE(store_->FindMeasured(kKey, {{"machine", "small"}})->has_value());
  EXPECT_TRUE(store_->FindMeasured(kKey, {})->has_value());
  // What a rule forbids is so on every machine.
  ASSERT_TRUE(store_->Append(Of(kKey, Outcome::kInvalid)).ok());
  EXPECT_TRUE(*store_->IsMeasured(kKey, 1, {{"machine", "small"}}));
}

// Programs before this one kept what they forbade so; `here` may name none of it.
TEST_P(ClaimsTest, AnInvalidMeasurementThatDoesNotSayWhatJudgedItHoldsNowhere) {
  for (const Facts& depends_on : {Facts(), Facts{{"commit", "1"}}, Facts{{"machine", "large"}, {"commit", "1"}}}) {
    Measurement judged = Of(kKey, Outcome::kInvalid);
    judged.depends_on = depends_on;
    ASSERT_TRUE(store_->Append(judged).ok());
    EXPECT_FALSE(*store_->IsMeasured(kKey, 1, {}));
    EXPECT_FALSE(*store_->IsMeasured(kKey, 1, depends_on));
    EXPECT_FALSE(store_->FindMeasured(kKey, depends_on)->has_value());
  }
  EXPECT_EQ(ResultOf("a"), ClaimResult::kClaimed);
}

TEST_P(ClaimsTest, AFailureEndsTheClaimAndLeavesThePointOpen) {
  const Claim claim = Try("a");
  ASSERT_TRUE(store_->AppendClaimed(Of(kKey, Outcome::kFailed), claim.fence).ok());
  EXPECT_EQ(ResultOf("b"), ClaimResult::kClaimed);
}

TEST_P(ClaimsTest, ALeaseEndsUnlessItIsRenewed) {
  const Claim claim = Try("a");
  now_ += 0.9 * kLease;
  EXPECT_TRUE(*store_->RenewClaim(kKey, claim.fence, kLease));
  now_ += 0.9 * kLease;
  EXPECT_EQ(ResultOf("b"), ClaimResult::kBusy);
  now_ += 0.2 * kLease;
  EXPECT_EQ(ResultOf("b"), ClaimResult::kClaimed);
  EXPECT_FALSE(*store_->RenewClaim(kKey, claim.fence, kLease));
}

TEST_P(ClaimsTest, ALeaseOfAnotherBootIsOver) {
  Try("a");
  now_ = 0;  // the clock of a machine that was started again
  store_ = OpenInEpoch("another boot");
  EXPECT_EQ(ResultOf("b"), ClaimResult::kClaimed);
}

TEST_P(ClaimsTest, TheClaimOfADeadProcessCountsForNothing) {
  const int exit_code = InChild([](SampleStore& store) {
    return store.TryClaim(kKey, MakeClaimOwner(), kLease, 1)->result == ClaimResult::kClaimed ? 0 : 1;
  });
  ASSERT_EQ(exit_code, 0);
  EXPECT_EQ(ResultOf(MakeClaimOwner()), ClaimResult::kClaimed);
}

TEST_P(ClaimsTest, TheClaimOfALivingProcessCounts) {
  ASSERT_EQ(ResultOf(MakeClaimOwner()), ClaimResult::kClaimed);
  EXPECT_EQ(InChild([](SampleStore& store) {
              return store.TryClaim(kKey, MakeClaimOwner(), kLease, 1)->result == ClaimResult::kBusy ? 0 : 1;
            }),
            0);
}

// Two processes and two threads in each run over the same points; each point must be measured by exactly one of them.
TEST_P(ClaimsTest, NoPointIsMeasuredTwice) {
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
          const bool append = claim.ok() && claim->result == ClaimResult::kClaimed;
          errors += !claim.ok() || (append && !store.AppendClaimed(Of(key, Outcome::kValid), claim->fence).ok());
        }
      });
    }
    threads.clear();
    return errors.load();
  };
  const pid_t child = fork();
  if (child == 0) {
    _exit(work(*OpenInEpoch("boot")));
  }
  EXPECT_EQ(work(*OpenInEpoch("boot")), 0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*store_->Count({}), kPoints);
}

// Every lease is over as soon as it begins, so that claims pass on all the time; fences alone decide.
TEST_P(ClaimsTest, NoPointIsMeasuredTwiceThoughLeasesEnd) {
  constexpr int kPoints = 20;
  std::atomic<int> errors = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        const auto store = OpenInEpoch("boot");
        const std::string owner = MakeClaimOwner();
        for (int point = 0; point < kPoints; ++point) {
          const MemoKey key = {"e", std::to_string(point)};
          for (ClaimResult found = ClaimResult::kClaimed; found == ClaimResult::kClaimed;) {
            const auto claim = store->TryClaim(key, owner, -1, 1);
            errors += !claim.ok();
            found = claim.ok() ? claim->result : ClaimResult::kMeasured;
            errors +=
                found == ClaimResult::kClaimed && !store->AppendClaimed(Of(key, Outcome::kValid), claim->fence).ok();
          }
        }
      });
    }
  }
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(*store_->Count({}), kPoints);
}

}  // namespace
}  // namespace assay::samplestore
