// Workers here are shell scripts that print events and end in the ways that real ones do.
#include "launch/local_launcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "launch/node_run.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class LocalLauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("launch");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    options_.worker = Path("worker");
  }

  std::string Path(const std::string& name) const { return directory_->path() + "/" + name; }

  /// A worker whose body is `script`; it is called with --plan FILE.
  void WriteWorker(const std::string& script) {
    ASSERT_TRUE(WriteFileAtomically(options_.worker, "#!/bin/sh\n" + script + "\n").ok());
    ASSERT_EQ(chmod(options_.worker.c_str(), 0755), 0);
  }

  /// A shell line that prints `events`.
  std::string Print(const std::vector<job::Event>& events) {
    std::string lines;
    for (const job::Event& event : events) {
      lines += job::ToJsonLine(event) + "\n";
    }
    const std::string file = Path(RandomUid());
    EXPECT_TRUE(WriteFileAtomically(file, lines).ok());
    return "cat " + file;
  }

  /// A shell line that waits until the run has ticked so often: it has been sampled by then.
  std::string AwaitTicks(int count) {
    options_.on_tick = [this, count, ticks = 0](const measure::LiveSample&) mutable {
      if (++ticks == count) {
        EXPECT_TRUE(WriteFileAtomically(Path("ticked"), "").ok());
      }
    };
    return "while ! [ -e " + Path("ticked") + " ]; do sleep 0.05; done\n";
  }

  job::RunRecord Run(const job::Plan& plan = {}) {
    auto record = RunWorker(plan, options_);
    EXPECT_TRUE(record.ok()) << record.status().message();
    return record.ok() ? *std::move(record) : job::RunRecord();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  LaunchOptions options_;
};

std::vector<job::Event> WholeRun() {
  job::Started started;
  started.pid = 1;
  job::Loaded loaded;
  loaded.seconds = 0.01;
  job::Step step;
  step.step = 1;
  job::Ended ended;
  ended.train_runtime = 0.02;
  return {started, loaded, step, ended};
}

TEST_F(LocalLauncherTest, ADoneRunHasItsEventsAndSamples) {
  WriteWorker(Print(WholeRun()) + "\n" + AwaitTicks(1));
  std::vector<std::string> seen;
  options_.on_event = [&](const job::Event& event) { seen.push_back(job::ToJsonLine(event)); };
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kDone) << record.reason;
  EXPECT_THAT(record.events, SizeIs(4));
  EXPECT_THAT(seen, SizeIs(4));
  EXPECT_THAT(record.event_seconds, SizeIs(4));
  EXPECT_LE(record.event_seconds.back(), record.wall_seconds);
  EXPECT_FALSE(record.samples.at("time_s").empty());
  EXPECT_GT(record.max_rss_bytes, 0);
  EXPECT_NEAR(record.overhead_seconds, record.wall_seconds - 0.03, 1e-9);
  EXPECT_TRUE(EndStatus(record).ok());
}

TEST_F(LocalLauncherTest, TheWorkerGetsThePlanAndItsEnvironment) {
  WriteWorker(fmt::format("cp \"$2\" {}; env > {}\n{}", Path("plan.json"), Path("env"), Print(WholeRun())));
  job::TunePlan plan;
  plan.batch_size = 7;
  plan.threads = 3;
  options_.environment = {{"EXTRA", "yes"}};
  ASSERT_EQ(Run(plan).end, job::RunEnd::kDone);
  const auto json = ReadJsonFile(Path("plan.json"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(job::TunePlanFromJson(*json)->batch_size, 7);
  EXPECT_THAT(*ReadFile(Path("env")), AllOf(HasSubstr("OMP_WAIT_POLICY=passive\n"), HasSubstr("OMP_NUM_THREADS=3\n"),
                                            HasSubstr("EXTRA=yes\n")));
}

TEST_F(LocalLauncherTest, NothingIsLeftOfARun) {
  WriteWorker(fmt::format("echo \"$2\" > {}\n{}", Path("where"), Print(WholeRun())));
  Run();
  const std::string plan_file(Trim(*ReadFile(Path("where"))));
  EXPECT_FALSE(FileExists(plan_file));
}

TEST_F(LocalLauncherTest, AnExceptionIsItsText) {
  job::Ended ended;
  ended.kind = job::EndKind::kError;
  ended.reason = "the loss is NaN";
  WriteWorker(Print({job::Started{}, ended}) + "\nexit 1");
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kError);
  EXPECT_EQ(EndStatus(record).message(), "the loss is NaN");
  EXPECT_EQ(EndStatus(record).code(), ErrorCode::kInternal);
}

TEST_F(LocalLauncherTest, AKilledWorkerIsOneLine) {
  job::Step step;
  step.step = 12;
  WriteWorker(Print({job::Started{}, job::Loaded{}, step}) + "\nkill -9 $$");
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kKilled);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("signal 9 (SIGKILL) after step 12"), testing::Not(HasSubstr("\n"))));
  EXPECT_THAT(record.events, SizeIs(3));
}

TEST_F(LocalLauncherTest, AVanishedWorkerKeepsItsLastWords) {
  WriteWorker("echo 'first words' >&2; echo 'last words' >&2; exit 3");
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kVanished);
  EXPECT_EQ(record.stderr_tail, "first words\nlast words");
  EXPECT_THAT(record.reason, AllOf(HasSubstr("exit code 3"), HasSubstr("last words")));
}

TEST_F(LocalLauncherTest, WhatIsNoEventDoesNoHarm) {
  WriteWorker("echo 'Hello from a library'\n" + Print(WholeRun()));
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kDone);
  EXPECT_EQ(record.stderr_tail, "Hello from a library");
}

TEST_F(LocalLauncherTest, TicksWhileTheWorkerRuns) {
  WriteWorker(AwaitTicks(10) + Print(WholeRun()));
  options_.sample_hz = 50;
  const job::RunRecord record = Run();
  EXPECT_TRUE(FileExists(Path("ticked")));
  EXPECT_GE(record.samples.at("time_s").size(), 3U) << "more than the first and the last";
}

TEST_F(LocalLauncherTest, AWorkerThatCannotStartIsAnErrorThatSaysWhatToDo) {
  options_.worker = Path("missing");
  EXPECT_THAT(RunWorker({}, options_).status().message(), HasSubstr("missing"));
  setenv("ASSAY_WORKER", Path("nowhere").c_str(), 1);
  const Status status = FindWorker().status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("nowhere is not there"), HasSubstr("ASSAY_WORKER")));
  setenv("ASSAY_WORKER", directory_->path().c_str(), 1);
  EXPECT_THAT(FindWorker().status().message(), HasSubstr("no program that may be run"));
  unsetenv("ASSAY_WORKER");
}

TEST_F(LocalLauncherTest, FindsTheWorkerByTheEnvironment) {
  WriteWorker("exit 0");
  setenv("ASSAY_WORKER", options_.worker.c_str(), 1);
  EXPECT_EQ(*FindWorker(), options_.worker);
  unsetenv("ASSAY_WORKER");
}

// In a process of its own, because a request to interrupt stays for the life of the process.
TEST_F(LocalLauncherTest, CtrlCStopsTheWorkerAndKeepsItsEvents) {
  job::Step step;
  step.step = 2;
  WriteWorker(Print({job::Started{}, job::Loaded{}, step}) + "\nexec sleep 3600");
  const auto interrupted_run = [this] {
    InstallInterruptHandler();
    options_.on_event = [](const job::Event& event) {
      if (std::holds_alternative<job::Step>(event)) {
        std::raise(SIGINT);
      }
    };
    const auto record = RunWorker({}, options_);
    const bool as_expected = record.ok() && record->end == job::RunEnd::kInterrupted && record->events.size() == 3 &&
                             record->wall_seconds < 1800 && EndStatus(*record).code() == ErrorCode::kAborted;
    std::_Exit(as_expected ? 0 : 1);
  };
  EXPECT_EXIT(interrupted_run(), testing::ExitedWithCode(0), "");
}

TEST_F(LocalLauncherTest, AWorkerThatIgnoresCtrlCIsKilled) {
  WriteWorker("trap '' TERM INT\n" + Print({job::Started{}}) + "\nwhile :; do sleep 0.05; done");
  const auto interrupted_run = [this] {
    InstallInterruptHandler();
    options_.grace_seconds = 0.2;
    options_.on_event = [](const job::Event&) { std::raise(SIGINT); };
    const auto record = RunWorker({}, options_);
    std::_Exit(record.ok() && record->end == job::RunEnd::kInterrupted ? 0 : 1);
  };
  EXPECT_EXIT(interrupted_run(), testing::ExitedWithCode(0), "");
}

TEST_F(LocalLauncherTest, ACancelledRunIsKilled) {
  WriteWorker("exec sleep 3600");
  options_.cancelled = [] { return true; };
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kKilled);
  EXPECT_LT(record.wall_seconds, 1800);
}

TEST_F(LocalLauncherTest, AWorkersInputEndsWithItsController) {
  // The worker says that it is up when its input has not ended for a while, then waits for that.
  WriteWorker(fmt::format("timeout 0.3 cat\ntest $? = 124 && echo $ASSAY_LIFELINE > {}\ncat\necho gone > {}",
                          Path("up"), Path("gone")));
  const pid_t controller = fork();
  if (controller == 0) {
    static_cast<void>(RunWorker({}, options_));
    _exit(0);
  }
  const auto wait_for = [](const std::string& path) {
    for (int i = 0; i < 30'000 && !FileExists(path); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return FileExists(path);
  };
  ASSERT_TRUE(wait_for(Path("up")));
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);
  EXPECT_TRUE(wait_for(Path("gone")));
}

TEST_F(LocalLauncherTest, AStoppedWorkerHasStoodStill) {
  WriteWorker(fmt::format("echo $$ > {}\n(while ! [ -e {} ]; do sleep 0.05; done; kill -CONT $$) &\nkill -STOP $$\n{}",
                          Path("pid"), Path("sampled"), Print(WholeRun())));
  const auto is_stopped = [this] {
    const auto pid = ReadFile(Path("pid"));
    const auto stat = pid.ok() ? ReadFile("/proc/" + std::string(Trim(*pid)) + "/stat") : pid;
    return stat.ok() && stat->find(") T ") != std::string::npos;
  };
  std::set<double> samples_of_stopped;  // the first may be of before
  options_.on_tick = [&](const measure::LiveSample& sample) {
    if (is_stopped() && samples_of_stopped.insert(sample.time_s).second && samples_of_stopped.size() == 3) {
      EXPECT_TRUE(WriteFileAtomically(Path("sampled"), "").ok());
    }
  };
  options_.sample_hz = 50;
  const job::RunRecord record = Run();
  EXPECT_EQ(record.end, job::RunEnd::kDone);
  EXPECT_GT(record.stood_still_seconds, 0);
}

TEST_F(LocalLauncherTest, ARunThatRanHasNotStoodStill) {
  WriteWorker("sleep 0.3\n" + Print(WholeRun()));
  EXPECT_EQ(Run().stood_still_seconds, 0);
}

TEST(GpusOfTest, OnlyThoseThatTheRanksUse) {
  const std::vector<measure::GpuInfo> gpus = {{.index = 0}, {.index = 1}, {.index = 2}};
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(GpusOf(0, 1, gpus), testing::ElementsAre(0));
  EXPECT_THAT(GpusOf(0, 2, gpus), testing::ElementsAre(0, 1));
  EXPECT_THAT(GpusOf(1, 1, gpus), testing::ElementsAre(1));
  EXPECT_THAT(GpusOf(3, 1, gpus), testing::IsEmpty());
  setenv("CUDA_VISIBLE_DEVICES", "2", 1);
  EXPECT_THAT(GpusOf(0, 2, gpus), testing::ElementsAre(2));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(LocalLauncherTest, RunsFromSeveralThreads) {
  WriteWorker("sleep 0.1\n" + Print(WholeRun()));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([this] { EXPECT_EQ(Run().end, job::RunEnd::kDone); });
  }
}

}  // namespace
}  // namespace assay::launch
