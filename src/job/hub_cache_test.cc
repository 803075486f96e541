#include "job/hub_cache.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace assay::job {
namespace {

TEST(HubCacheTest, TellsIdsOfRepositories) {
  for (const char* id : {"gpt2", "org/name", "HuggingFaceTB/SmolLM2-135M", "a_b/c.d"}) {
    EXPECT_TRUE(IsHubRepository(id)) << id;
  }
  for (const char* other : {"", "/", "a/", "/b", "a/b/c", "..", "../x", "a--b", "a/..", ".a", "a b", "~/model"}) {
    EXPECT_FALSE(IsHubRepository(other)) << other;
  }
}

TEST(HubCacheTest, FindsASnapshotByBranchAndByCommit) {
  const auto directory = TemporaryDirectory::Create("hub").value();
  const std::string folder = HubRepositoryFolder(directory.path(), "org/name");
  EXPECT_EQ(folder, directory.path() + "/models--org--name");
  ASSERT_TRUE(MakeDirectories(folder + "/refs").ok());
  ASSERT_TRUE(MakeDirectories(folder + "/snapshots/abc").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/refs/main", "abc\n").ok());
  EXPECT_EQ(FindHubSnapshot(directory.path(), "org/name"), folder + "/snapshots/abc");
  EXPECT_EQ(FindHubSnapshot(directory.path(), "org/name", "abc"), folder + "/snapshots/abc");
  EXPECT_EQ(FindHubSnapshot(directory.path(), "org/name", "v2"), "");
  EXPECT_EQ(FindHubSnapshot(directory.path(), "org/other"), "");
  EXPECT_EQ(FindHubSnapshot(directory.path(), "../org"), "");
}

}  // namespace
}  // namespace assay::job
