#include "launch/oom_count.h"

#include <gmock/gmock.h>

#include "base/files.h"

namespace assay::launch {
namespace {

class OomCountTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("oom");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
  }

  void Write(const std::string& path, const std::string& text) {
    const std::string file = root() + path;
    ASSERT_TRUE(MakeDirectories(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileAtomically(file, text).ok());
  }
  const std::string& root() const { return directory_->path(); }

  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(OomCountTest, ReadsTheGroupOfVersion2) {
  Write("/proc/self/cgroup", "0::/user.slice/run\n");
  Write("/sys/fs/cgroup/user.slice/run/memory.events", "low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\n");
  Write("/proc/vmstat", "oom_kill 99\n");
  EXPECT_EQ(OutOfMemoryKills(root()), 3);
}

TEST_F(OomCountTest, ReadsTheGroupOfVersion1) {
  Write("/proc/self/cgroup", "12:cpu,cpuacct:/docker/a\n9:memory:/docker/a\n");
  Write("/sys/fs/cgroup/memory/docker/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(OutOfMemoryKills(root()), 5);
}

TEST_F(OomCountTest, FallsBackToTheMachine) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
  EXPECT_EQ(OutOfMemoryKills(root()), 7);
}

TEST_F(OomCountTest, IsZeroWhereNothingCounts) {
  EXPECT_EQ(OutOfMemoryKills(root()), 0);
}

}  // namespace
}  // namespace assay::launch
