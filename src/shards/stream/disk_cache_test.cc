#include "shards/stream/disk_cache.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "base/files.h"

namespace assay::shards {
namespace {

class DiskCacheTest : public testing::Test {
 protected:
  std::string Text(const std::string& name) {
    const std::optional<Blob> found = cache_->Find(name);
    return found ? std::string(found->text()) : "none";
  }
  void Put(const std::string& name, const std::string& content) {
    ASSERT_TRUE(cache_->Put(name, std::as_bytes(std::span(content)), next_use_).ok());
  }
  std::string Path(const std::string& name) { return folder_.path() + "/" + name; }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("cache");
  std::unique_ptr<DiskCache> cache_ = *DiskCache::Open(folder_.path(), 400);
  DiskCache::NextUse next_use_ = [](const std::string&) { return std::numeric_limits<int64_t>::max(); };
};

TEST_F(DiskCacheTest, WhatIsNeededLastMakesRoom) {
  const std::map<std::string, int64_t> uses = {{"a", 5}, {"b", 90}, {"c", 7}};
  next_use_ = [&](const std::string& name) { return uses.at(name); };
  for (const char* name : {"a", "b", "c"}) {
    Put(name, std::string(100, *name));  // with its end 148 bytes: two fit
  }
  EXPECT_EQ(Text("a"), std::string(100, 'a'));
  EXPECT_EQ(Text("b"), "none");
  EXPECT_EQ(Text("c"), std::string(100, 'c'));
}

TEST_F(DiskCacheTest, FilesOfOthersAreNotTouched) {
  const std::string foreign(1000, 'x');
  ASSERT_TRUE(WriteFileAtomically(Path("assay-mine.shard"), foreign).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("data"), foreign).ok());
  for (int i = 0; i < 5; ++i) {
    Put(std::to_string(i), std::string(300, 'x'));
  }
  EXPECT_EQ(*ReadFile(Path("assay-mine.shard")), foreign);
  EXPECT_EQ(*ReadFile(Path("data")), foreign);
  EXPECT_EQ(Text("mine"), "none");
  EXPECT_EQ(Text("3"), "none");
  EXPECT_EQ(Text("4"), std::string(300, 'x'));
}

TEST_F(DiskCacheTest, WhatIsDamagedIsFetchedAgain) {
  Put("a", "content");
  std::string file = *ReadFile(Path("assay-a.shard"));
  file[2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(Path("assay-a.shard"), file).ok());
  EXPECT_EQ(Text("a"), "none");
  EXPECT_FALSE(FileExists(Path("assay-a.shard")));
  Put("a", "content");
  EXPECT_EQ(Text("a"), "content");
}

TEST_F(DiskCacheTest, OnlyOneFetches) {
  {
    const auto claim = cache_->TryClaim("a");
    EXPECT_TRUE(claim);
    EXPECT_FALSE(cache_->TryClaim("a"));
  }
  EXPECT_TRUE(cache_->TryClaim("a"));
  // One whose process is gone does not hold.
  const pid_t child = ::fork();
  if (child == 0) {
    new DiskCache::Claim(*cache_->TryClaim("b"));  // as a crash leaves it
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(cache_->TryClaim("b"));
  EXPECT_TRUE(cache_->TryClaim("b"));
}

TEST_F(DiskCacheTest, WhatAProcessLeftIsKnownThoughItsIdIsOursNow) {
  const std::string before = std::to_string(::getpid()) + "-1";
  ASSERT_EQ(::symlink(before.c_str(), Path("assay-a.shard.claim").c_str()), 0);
  const std::string half = Path("assay-b.shard." + before + ".1.part");
  ASSERT_TRUE(WriteFileAtomically(half, "half of it").ok());
  EXPECT_FALSE(cache_->TryClaim("a"));
  EXPECT_TRUE(cache_->TryClaim("a"));
  EXPECT_TRUE(DiskCache::Open(folder_.path(), 400).ok());
  EXPECT_FALSE(FileExists(half));
}

TEST_F(DiskCacheTest, NobodyIsWaitedForWhereTheFolderTakesNoClaim) {
  std::filesystem::remove_all(folder_.path());
  EXPECT_TRUE(cache_->TryClaim("a"));
  EXPECT_TRUE(cache_->TryClaim("a"));
}

}  // namespace
}  // namespace assay::shards
