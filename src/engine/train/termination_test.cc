#include "engine/train/termination.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace assay::engine {
namespace {

TEST(Termination, TheEndIsToldBeforeTheLastWorkAndNothingBehindIt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto be_ended = [] {
    EventWriter events(STDERR_FILENO);
    TerminationWatcher termination(events);
    termination.set_last_work([&] {
      events.write(job::Saved{.path = "/late"});
      std::fputs("last work\n", stderr);
    });
    ::kill(::getpid(), SIGTERM);
    while (true) {
      ::pause();
    }
  };
  EXPECT_EXIT(
      be_ended(), [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 0; },
      "interrupted by SIGTERM[^\n]*\nlast work\n$");
}

}  // namespace
}  // namespace assay::engine
