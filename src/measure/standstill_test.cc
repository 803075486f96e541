#include "measure/standstill.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "measure/sample_collector.h"

namespace assay::measure {
namespace {

TEST(StandstillTest, CountsWhatWasStoppedAndWhereTheSamplerWas) {
  Standstill standstill;
  standstill.Add(0.1, false);
  standstill.Add(0.5, false);
  EXPECT_EQ(standstill.seconds(), 0);
  standstill.Add(0.1, true);
  EXPECT_EQ(standstill.seconds(), 0.1);
  standstill.Add(9, false);
  EXPECT_EQ(standstill.seconds(), 9.1);
  standstill.Add(9, false, /*waited_s=*/8.5);
  EXPECT_EQ(standstill.seconds(), 9.1) << "the machine had other work";
  standstill.AddSuspended(1e-6);
  EXPECT_EQ(standstill.seconds(), 9.1);
  standstill.AddSuspended(60);
  EXPECT_EQ(standstill.seconds(), 69.1);
}

TEST(StandstillTest, TheMachineIsNotSuspendedNow) {
  const double before = SuspendedSeconds();
  EXPECT_GE(before, -1e-3);
  EXPECT_NEAR(SuspendedSeconds(), before, 1e-3);
}

TEST(StandstillTest, TheCollectorSeesAStoppedProcess) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) {
      pause();
    }
  }
  SampleCollector collector({child}, nullptr, {});
  EXPECT_TRUE(collector.Collect(0, true));
  EXPECT_TRUE(collector.Collect(0.25, true));
  EXPECT_EQ(collector.series().stood_still_seconds, 0);
  kill(child, SIGSTOP);
  waitpid(child, nullptr, WUNTRACED);
  EXPECT_TRUE(collector.Collect(0.75, true));
  kill(child, SIGCONT);
  waitpid(child, nullptr, WCONTINUED);
  EXPECT_TRUE(collector.Collect(1, true));
  EXPECT_EQ(collector.series().stood_still_seconds, 0.5);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace assay::measure
