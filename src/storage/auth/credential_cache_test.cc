#include "storage/auth/credential_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace assay::storage {
namespace {

struct Token {
  int number = 0;
  double expires = 0;
};

// A service whose tokens live for an hour, and a clock.
class CredentialCacheTest : public testing::Test {
 protected:
  Result<Token> Load() {
    ++loads;
    if (broken) {
      return Status::PermissionDenied("refused");
    }
    return Token{loads, lasting > 0 ? now + lasting : 0};
  }

  std::atomic<int> loads = 0;
  bool broken = false;
  double lasting = 3600;
  std::atomic<double> now = 1000;
  CredentialCache<Token> cache{[this] { return Load(); }, [this] { return now.load(); }};
};

TEST_F(CredentialCacheTest, LoadsOnceAndKeeps) {
  EXPECT_EQ(cache.Current(), nullptr);
  ASSERT_TRUE(cache.Prepare().ok());
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(cache.Current()->number, 1);
}

TEST_F(CredentialCacheTest, RefreshesBeforeTheEnd) {
  ASSERT_TRUE(cache.Prepare().ok());
  now = 1000 + 3600 - 16 * 60;
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 1);
  now = 1000 + 3600 - 14 * 60;
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(cache.Current()->number, 2);
}

TEST_F(CredentialCacheTest, ShortLivedOnesAreNotFetchedForEveryRequest) {
  lasting = 2 * 60;
  ASSERT_TRUE(cache.Prepare().ok());
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 1);
  now = now + 61;
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 2);
}

TEST_F(CredentialCacheTest, AnEarlyRefreshMayFail) {
  ASSERT_TRUE(cache.Prepare().ok());
  broken = true;
  now = 1000 + 3600 - 14 * 60;
  ASSERT_TRUE(cache.Prepare().ok());
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 2) << "the second try waits a minute";
  now = now + 61;
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 3);
  now = 1000 + 3600 + 1;
  EXPECT_EQ(cache.Prepare().message(), "refused");
}

TEST_F(CredentialCacheTest, ExpireForcesANewOne) {
  lasting = 0;
  ASSERT_TRUE(cache.Prepare().ok());
  now = now + 1e6;
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 1);
  cache.Expire();
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(cache.Current()->number, 2);
  cache.Expire();
  ASSERT_TRUE(cache.Prepare().ok());
  EXPECT_EQ(loads, 2) << "late refusals of the old ones change nothing";
}

TEST_F(CredentialCacheTest, FailsWithTheErrorOfLoading) {
  broken = true;
  EXPECT_EQ(cache.Prepare().message(), "refused");
  EXPECT_EQ(cache.Current(), nullptr);
  broken = false;
  EXPECT_TRUE(cache.Prepare().ok());
}

TEST_F(CredentialCacheTest, ManyThreadsLoadOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([this] { EXPECT_TRUE(cache.Prepare().ok()); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace assay::storage
