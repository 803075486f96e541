#include "base/process_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace assay {
namespace {

TEST(ProcessIdentityTest, AProcessIsGoneWhenItIsAZombieOrItsIdIsAnotherOnes) {
  const std::string running = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0\n";
  const std::string zombie = "7 (a) b) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0\n";
  EXPECT_FALSE(ProcessIsGone(running, 0, "4711"));
  EXPECT_TRUE(ProcessIsGone(running, 0, "4710"));
  EXPECT_TRUE(ProcessIsGone(zombie, 0, "4711"));
}

// With hidepid, another user's process has no readable /proc/PID/stat.
TEST(ProcessIdentityTest, AProcessThatCannotBeReadIsGoneOnlyWhereItsIdIsFree) {
  EXPECT_TRUE(ProcessIsGone("", ESRCH, "4711"));
  EXPECT_FALSE(ProcessIsGone("", EPERM, "4711"));
  EXPECT_FALSE(ProcessIsGone("", 0, "4711"));
}

TEST(ProcessIdentityTest, ThisProcessRunsUnderItsOwnStartAlone) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_FALSE(ProcessIsGone(pid, ProcessStart()));
  EXPECT_TRUE(ProcessIsGone(pid, "1" + ProcessStart()));
  EXPECT_TRUE(ProcessIsGone("2147483647", ProcessStart()));
}

}  // namespace
}  // namespace assay
