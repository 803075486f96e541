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

TEST(ParallelTest, SomeThreadIsUsable) {
  EXPECT_GE(UsableThreads(), 1);
}

}  // namespace
}  // namespace assay
