#include "base/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(ParallelTest, CallsEachIndexOnce) {
  for (const int threads : {0, 1, 3, 8}) {
    std::vector<std::atomic<int>> calls(5);
    ParallelFor(5, threads, [&](int64_t i) { ++calls[i]; });
    for (const std::atomic<int>& count : calls) {
      EXPECT_EQ(count, 1) << threads << " threads";
    }
  }
}

TEST(ParallelTest, CallsNothingForNoWork) {
  ParallelFor(0, 4, [](int64_t) { FAIL(); });
}

TEST(ParallelTest, TheFirstFailureIsReturnedAndEndsTheRest) {
  for (const int threads : {1, 4}) {
    std::atomic<int> calls = 0;
    const Status status = ParallelUntilFailure(1000, threads, [&](int64_t i) {
      ++calls;
      return i >= 3 ? Status::Io("the disk is full") : Status::Ok();
    });
    EXPECT_EQ(status.message(), "the disk is full");
    EXPECT_LE(calls, 3 + threads);
  }
}

TEST(ParallelTest, AllThatCanFailIsCalledWhereNothingDoes) {
  std::vector<std::atomic<int>> calls(100);
  EXPECT_TRUE(ParallelUntilFailure(100, 4, [&](int64_t i) {
                ++calls[i];
                return Status::Ok();
              }).ok());
  for (const std::atomic<int>& count : calls) {
    EXPECT_EQ(count, 1);
  }
}

TEST(ParallelTest, SomeThreadIsUsable) {
  EXPECT_GE(UsableThreads(), 1);
}

}  // namespace
}  // namespace assay
