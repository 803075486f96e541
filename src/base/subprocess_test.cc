#include "base/subprocess.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/text.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Outcome {
  ProcessEnd end;
  std::vector<std::string> out;
  std::vector<std::string> err;
};

Outcome RunShell(const std::string& script, SubprocessOptions options = {}) {
  Outcome outcome;
  options.argv = {"sh", "-c", script};
  options.on_stdout_line = [&](std::string_view line) { outcome.out.emplace_back(line); };
  options.on_stderr_line = [&](std::string_view line) { outcome.err.emplace_back(line); };
  auto child = Subprocess::Start(std::move(options));
  EXPECT_TRUE(child.ok()) << child.status().message();
  auto end = child->Wait();
  EXPECT_TRUE(end.ok());
  outcome.end = *end;
  return outcome;
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

// A zombie that nobody reaps is not alive.
bool IsAlive(pid_t pid) {
  const auto stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  return stat.ok() && stat->find(") Z ") == std::string::npos;
}

TEST(SubprocessTest, DeliversLinesOfBothStreams) {
  const Outcome outcome = RunShell("echo one; echo two >&2; printf three; exit 3");
  EXPECT_THAT(outcome.out, ElementsAre("one", "three"));
  EXPECT_THAT(outcome.err, ElementsAre("two"));
  EXPECT_TRUE(outcome.end.exited);
  EXPECT_EQ(outcome.end.Describe(), "exit code 3");
  EXPECT_GT(outcome.end.max_rss_bytes, 0);
}

TEST(SubprocessTest, TalksOverAChannel) {
  SubprocessOptions options;
  options.argv = {"cat"};
  options.channel = true;
  auto child = Subprocess::Start(std::move(options));
  ASSERT_TRUE(child.ok()) << child.status().message();
  std::string text = "there and back";
  ASSERT_TRUE(WriteAll(child->channel().get(), std::as_bytes(std::span(text))));
  std::string back(text.size(), ' ');
  ASSERT_EQ(::read(child->channel().get(), back.data(), back.size()), static_cast<ssize_t>(back.size()));
  EXPECT_EQ(back, text);
  ::shutdown(child->channel().get(), SHUT_WR);
  EXPECT_EQ(::read(child->channel().get(), back.data(), back.size()), 0);
  EXPECT_EQ(child->Wait()->Describe(), "exit code 0");
}

TEST(SubprocessTest, ReportsASignal) {
  const Outcome outcome = RunShell("kill -9 $$");
  EXPECT_FALSE(outcome.end.exited);
  EXPECT_EQ(outcome.end.signal, SIGKILL);
  EXPECT_EQ(outcome.end.Describe(), "killed by signal 9 (SIGKILL)");
}

TEST(SubprocessTest, LinesMayBeLongerThanThePipe) {
  const Outcome outcome = RunShell("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end");
  ASSERT_THAT(outcome.out, SizeIs(2));
  EXPECT_EQ(outcome.out[0].size(), 300'000);
}

TEST(SubprocessTest, ReadsAllThatASlowReaderLeftInThePipe) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", "seq 1 5000"};
  int lines = 0;
  options.on_stdout_line = [&](std::string_view) {
    if (++lines == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));  // beyond the time that draining may take
    }
  };
  auto child = Subprocess::Start(std::move(options));
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child->Wait().ok());
  EXPECT_EQ(lines, 5000);
}

TEST(SubprocessTest, ChildMayCloseItsOutputEarly) {
  const Outcome outcome = RunShell("echo early; exec >&- 2>&-; sleep 0.05; exit 4");
  EXPECT_THAT(outcome.out, ElementsAre("early"));
  EXPECT_EQ(outcome.end.exit_code, 4);
}

TEST(SubprocessTest, GrandchildThatKeepsThePipeDoesNotHang) {
  const double begin = MonotonicSeconds();
  const Outcome outcome = RunShell("sleep 3600 & echo $!; exit 0");
  EXPECT_LT(MonotonicSeconds() - begin, 1800);
  ASSERT_THAT(outcome.out, SizeIs(1));
  ::kill(std::stoi(outcome.out[0]), SIGKILL);
}

TEST(SubprocessTest, ManyChildrenLeakNothing) {
  RunShell("true");
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(RunShell("exit 1").end.exit_code, 1);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(SubprocessTest, SetsEnvironmentAndFolder) {
  SubprocessOptions options;
  options.environment = {{"ASSAY_TEST_VALUE", "a b"}, {"PATH", ::getenv("PATH")}};
  options.working_directory = "/proc";
  EXPECT_THAT(RunShell("echo $ASSAY_TEST_VALUE; pwd", options).out, ElementsAre("a b", "/proc"));
}

TEST(SubprocessTest, ChildHasNoInputAndItsOwnGroup) {
  EXPECT_THAT(RunShell("cat; echo done").out, ElementsAre("done"));
  EXPECT_THAT(RunShell("test $(ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat) = $$ && echo own").out,
              ElementsAre("own"));
}

TEST(SubprocessTest, ErrorsOfStartingAreReportedAtOnce) {
  SubprocessOptions missing;
  missing.argv = {"/no/such/program"};
  EXPECT_THAT(Subprocess::Start(missing).status().message(), HasSubstr("cannot start /no/such/program: No such file"));
  SubprocessOptions folder;
  folder.argv = {"true"};
  folder.working_directory = "/no/such/folder";
  EXPECT_THAT(Subprocess::Start(folder).status().message(), HasSubstr("/no/such/folder"));
  EXPECT_FALSE(Subprocess::Start({}).ok());
}

TEST(SubprocessTest, TicksWhileWaiting) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("ticks").value();
  const std::string ticked = folder.path() + "/ticked";
  SubprocessOptions options;
  int ticks = 0;
  options.on_tick = [&] {
    if (++ticks == 3) {
      EXPECT_TRUE(WriteFileAtomically(ticked, "").ok());
    }
  };
  const double begin = MonotonicSeconds();
  RunShell("while ! [ -e " + ticked + " ]; do sleep 0.02; done", options);
  EXPECT_GE(ticks, 3);
  EXPECT_LE(ticks, (MonotonicSeconds() - begin) / 0.1 + 1) << "ten a second";
}

TEST(SubprocessTest, KillReachesGrandchildren) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", "sleep 30 & echo $!; wait"};
  pid_t grandchild = 0;
  Subprocess* running = nullptr;
  options.on_stdout_line = [&](std::string_view line) {
    grandchild = std::stoi(std::string(line));
    running->Kill(SIGKILL);
  };
  auto child = Subprocess::Start(std::move(options));
  ASSERT_TRUE(child.ok());
  running = &*child;
  EXPECT_EQ(child->Wait()->signal, SIGKILL);
  child->Kill(SIGKILL);  // does nothing once the child is reaped
  for (int i = 0; i < 30'000 && IsAlive(grandchild); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(IsAlive(grandchild));
}

TEST(SubprocessTest, DestructorKillsAndReaps) {
  pid_t pid = 0;
  {
    SubprocessOptions options;
    options.argv = {"sleep", "30"};
    auto child = Subprocess::Start(std::move(options));
    ASSERT_TRUE(child.ok());
    pid = child->pid();
    EXPECT_TRUE(IsAlive(pid));
  }
  EXPECT_FALSE(IsAlive(pid));
}

TEST(SubprocessTest, WaitingTwiceGivesTheSameEnd) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", "exit 5"};
  auto child = Subprocess::Start(std::move(options));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->Wait()->exit_code, 5);
  EXPECT_EQ(child->Wait()->exit_code, 5);
}

// Runs in a process of its own, since the flag cannot be taken back. Exits with 0 when all went as it should.
[[noreturn]] void InterruptARun(const char* script, int expected_signal) {
  InstallInterruptHandler();
  SubprocessOptions options;
  options.argv = {"sh", "-c", script};
  options.on_stdout_line = [](std::string_view) { ::raise(SIGINT); };
  auto child = Subprocess::Start(std::move(options));
  const auto end = child->Wait(0.2);
  ::_exit(end.ok() && InterruptRequested() && end->signal == expected_signal ? 0 : 1);
}

TEST(InterruptTest, TerminatesTheChild) {
  EXPECT_EXIT(InterruptARun("echo ready; exec sleep 30", SIGTERM), ::testing::ExitedWithCode(0), "");
}

TEST(InterruptTest, KillsAChildThatIgnoresTermination) {
  EXPECT_EXIT(InterruptARun("trap '' TERM; echo ready; while :; do sleep 1; done", SIGKILL),
              ::testing::ExitedWithCode(0), "");
}

TEST(InterruptTest, TheSecondOneEndsTheProgram) {
  const auto interrupt_twice = [] {
    InstallInterruptHandler();
    ::raise(SIGINT);
    ::raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace assay
