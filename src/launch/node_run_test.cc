#include "launch/node_run.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace assay::launch {
namespace {

// By a process of its own: who runs the tests is not stopped. 0 where the run was told of.
int RunInAChild(const std::string& worker) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const job::Plan plan;
    const LaunchOptions options;
    NodeRun run(plan, {}, options);
    const bool is_run = run.Start(worker, "no-plan.json").ok() && run.Wait().ok();
    ::_exit(is_run && run.Report().stood_still_seconds >= 2 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

TEST(NodeRun, CountsWhatItStoodStillWhetherBeforeItsFirstSampleOrBehind) {
  const TemporaryDirectory folder = *TemporaryDirectory::Create("node-run");
  const std::string worker = folder.path() + "/worker";
  // More than a controller may be away, from when its rank begins.
  ASSERT_TRUE(WriteFileAtomically(worker, "#!/bin/sh\nkill -STOP $PPID; sleep 2.1; kill -CONT $PPID\n").ok());
  ASSERT_EQ(::chmod(worker.c_str(), 0700), 0);
  EXPECT_EQ(RunInAChild(worker), 0);
}

}  // namespace
}  // namespace assay::launch
