#include "storage/transfer/retry.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <utility>

#include "storage/transfer/latency_tracker.h"

namespace assay::storage {
namespace {

Failure Of(FailureClass kind) {
  return MakeFailure(kind, ErrorCode::kIo, "");
}

TEST(RetryTest, WaitsAreBoundedByTheExponential) {
  std::mt19937_64 random(1);
  for (int attempts = 1; attempts < 8; ++attempts) {
    double largest = 0;
    for (int i = 0; i < 200; ++i) {
      const auto delay = RetryDelay(Of(FailureClass::kServer), {.attempts = attempts}, 8, random);
      ASSERT_TRUE(delay.has_value());
      largest = std::max(largest, *delay);
    }
    const double ceiling = 0.05 * (1 << (attempts - 1));
    EXPECT_LE(largest, ceiling);
    EXPECT_GE(largest, 0.8 * ceiling);
  }
  EXPECT_FALSE(RetryDelay(Of(FailureClass::kServer), {.attempts = 8}, 8, random).has_value());
}

TEST(RetryTest, TheStoresOwnWishIsRespected) {
  std::mt19937_64 random(1);
  Failure failure = Of(FailureClass::kThrottle);
  for (const double seconds : {3.0, 40.0, kMaxRetryAfterSeconds}) {
    failure.retry_after_seconds = seconds;
    EXPECT_GE(RetryDelay(failure, {.attempts = 1}, 8, random).value_or(0), seconds);
  }
}

TEST(RetryTest, AStoreThatAsksForTooLongIsNotWaitedFor) {
  std::mt19937_64 random(1);
  Failure failure = Of(FailureClass::kThrottle);
  failure.retry_after_seconds = 3600;
  EXPECT_FALSE(RetryDelay(failure, {.attempts = 1}, 8, random).has_value());
  EXPECT_THAT(DescribeFailure("read", "s3://b/k", failure, 1).message(),
              testing::EndsWith("; the store asks to wait 3600 s, and no more than 120 s are waited: try again then"));
}

TEST(FailureTest, RetryAfterIsSecondsOrADateOfTheStoresClock) {
  const auto seconds = [](std::string value) {
    http::Response answer;
    answer.headers.Add("Date", "Sat, 31 Jan 2026 12:00:00 GMT");
    answer.headers.Add("Retry-After", std::move(value));
    Failure failure;
    TakeHeaders(answer, "x-request-id", failure);
    return failure.retry_after_seconds;
  };
  EXPECT_EQ(seconds("40"), 40);
  EXPECT_EQ(seconds("Sat, 31 Jan 2026 12:01:30 GMT"), 90);
  EXPECT_EQ(seconds("Sat, 31 Jan 2026 11:00:00 GMT"), 0);
  EXPECT_EQ(seconds("99999999999999999999"), std::numeric_limits<double>::infinity());
  for (const char* nonsense : {"", "soon", "-5", "1e9"}) {
    EXPECT_EQ(seconds(nonsense), 0) << nonsense;
  }
}

TEST(RetryTest, WhatWouldEndTheSameWayIsNotRepeated) {
  std::mt19937_64 random(1);
  for (const FailureClass kind :
       {FailureClass::kMissing, FailureClass::kPrecondition, FailureClass::kDenied, FailureClass::kPermanent}) {
    EXPECT_FALSE(RetryDelay(Of(kind), {.attempts = 1}, 8, random).has_value()) << NameOf(kind);
  }
  EXPECT_FALSE(RetryDelay(Of(FailureClass::kConnect), {.attempts = 4}, 8, random).has_value());
}

TEST(RetryTest, CorrectionsAreTriedAtOnceAndSeldom) {
  std::mt19937_64 random(1);
  EXPECT_EQ(RetryDelay(Of(FailureClass::kExpired), {.attempts = 1, .expired = 1}, 8, random), 0);
  EXPECT_FALSE(RetryDelay(Of(FailureClass::kExpired), {.attempts = 3, .expired = 3}, 8, random).has_value());
  EXPECT_EQ(RetryDelay(Of(FailureClass::kClockSkew), {.attempts = 1, .clock_skew = 1}, 8, random), 0);
  EXPECT_FALSE(RetryDelay(Of(FailureClass::kClockSkew), {.attempts = 2, .clock_skew = 2}, 8, random).has_value());
}

TEST(RetryBudgetTest, AnOutageEmptiesIt) {
  RetryBudget budget;
  int spent = 0;
  while (budget.Spend()) {
    ++spent;
  }
  EXPECT_EQ(spent, 250);
  budget.Earn();
  EXPECT_FALSE(budget.Spend());
  budget.Earn();
  EXPECT_TRUE(budget.Spend());
}

TEST(LatencyTrackerTest, SlowIsWellBeyondTheUsual) {
  LatencyTracker tracker;
  for (int i = 0; i < 15; ++i) {
    tracker.Record(Direction::kGet, 1 << 20, 1.0);
  }
  EXPECT_FALSE(tracker.SlowSeconds(Direction::kGet, 1 << 20).has_value());
  tracker.Record(Direction::kGet, 1 << 20, 3.0);
  EXPECT_EQ(tracker.SlowSeconds(Direction::kGet, 1 << 20), 6.0);
  EXPECT_FALSE(tracker.SlowSeconds(Direction::kPut, 1 << 20).has_value());
  EXPECT_FALSE(tracker.SlowSeconds(Direction::kGet, 8 << 20).has_value());
}

TEST(FailureTest, OneLineWithAllThatIsKnown) {
  Failure failure = FailureOfStatus(503);
  failure.kind = FailureClass::kThrottle;
  failure.store_code = "SlowDown";
  failure.message = "Reduce your\nrequest rate";
  failure.request_id = "4ZX";
  const Status status = DescribeFailure("write part 3 of", "s3://b/k", failure, 8);
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_EQ(status.message(),
            "cannot write part 3 of s3://b/k: 503 SlowDown: Reduce your request rate (request 4ZX, 8 attempts); lower "
            "the number of connections, spread the keys over prefixes, or try later");
}

}  // namespace
}  // namespace assay::storage
