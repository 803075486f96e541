#include "base/job_pool.h"

#include <gmock/gmock.h>

#include <atomic>

namespace assay {
namespace {

TEST(JobPool, ResultsComeInOrderWhateverTheThreads) {
  for (const int threads : {1, 2, 5}) {
    JobPool pool(threads);
    InOrder<int> results(pool);
    std::vector<int> taken;
    for (int i = 0; i < 200; ++i) {
      results.Give([i] { return i; });
      while (results.size() > 7) {
        taken.push_back(results.Take());
      }
    }
    while (!results.empty()) {
      taken.push_back(results.Take());
    }
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(taken[static_cast<size_t>(i)], i);
    }
  }
}

TEST(JobPool, WhatHasNotBegunIsDropped) {
  std::atomic<int> done = 0;
  {
    JobPool pool(1);
    InOrder<int> results(pool);
    results.Give([&done] { return ++done; });
    results.Give([&done] { return ++done; });
    EXPECT_EQ(results.Take(), 1);
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace assay
