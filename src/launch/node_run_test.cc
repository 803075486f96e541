#include "launch/node_run.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace assay::launch {
namespace {

TEST(NodeRun, CountsWhatItStoodStillBeforeTheFirstSample) {
  const job::Plan plan;
  const LaunchOptions options;
  NodeShare share;
  share.rank_variables = [](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // more than a controller may be away
    return std::map<std::string, std::string>();
  };
  NodeRun run(plan, share, options);
  ASSERT_TRUE(run.Start("/bin/true", "no-plan.json").ok());
  ASSERT_TRUE(run.Wait().ok());
  EXPECT_GE(run.Report().stood_still_seconds, 2);
}

}  // namespace
}  // namespace assay::launch
