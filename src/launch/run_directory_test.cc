#include "launch/run_directory.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/files.h"

namespace assay::launch {
namespace {

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR"); before != nullptr) {
      before_ = before;
    }
    setenv("TMPDIR", parent_.path().c_str(), 1);
  }
  void TearDown() override {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }

  std::optional<std::string> before_;
  TemporaryDirectory parent_ = TemporaryDirectory::Create("parent").value();
};

TEST_F(RunDirectoryTest, IsRemovedWithItsOwner) {
  std::string path;
  {
    const auto directory = RunDirectory::Create();
    ASSERT_TRUE(directory.ok()) << directory.status().message();
    path = directory->path();
    EXPECT_TRUE(IsDirectory(path));
    EXPECT_TRUE(path.starts_with(parent_.path() + "/assay-run-"));
  }
  EXPECT_FALSE(IsDirectory(path));
}

TEST_F(RunDirectoryTest, SweepsWhatAKilledOwnerLeftAndNothingElse) {
  const auto held = RunDirectory::Create();
  ASSERT_TRUE(MakeDirectories(parent_.path() + "/assay-other-1").ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto orphaned = RunDirectory::Create();
    static_cast<void>(WriteFileAtomically(parent_.path() + "/orphan", orphaned->path()));
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const std::string orphan = *ReadFile(parent_.path() + "/orphan");
  ASSERT_TRUE(IsDirectory(orphan));
  const auto next = RunDirectory::Create();
  EXPECT_FALSE(IsDirectory(orphan));
  EXPECT_TRUE(IsDirectory(held->path()));
  EXPECT_TRUE(IsDirectory(next->path()));
  EXPECT_TRUE(IsDirectory(parent_.path() + "/assay-other-1"));
}

}  // namespace
}  // namespace assay::launch
