// Ranks here are shell scripts that print events and end in the ways that real workers do.
#include "launch/rank_group.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "launch/local_launcher.h"
#include "launch/rank_variables.h"

namespace assay::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class RanksTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("ranks");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    options_.worker = directory_->path() + "/worker";
  }

  /// Runs a plan of two ranks whose worker's body is `script`.
  job::RunRecord Run(const std::string& script) {
    EXPECT_TRUE(WriteFileAtomically(options_.worker, "#!/bin/sh\n" + script + "\n").ok());
    EXPECT_EQ(chmod(options_.worker.c_str(), 0755), 0);
    job::VitPlan plan;
    plan.number_ranks = 2;
    auto record = RunWorker(plan, options_);
    EXPECT_TRUE(record.ok()) << record.status().message();
    return record.ok() ? *std::move(record) : job::RunRecord();
  }

  /// Shell lines in which rank 0 waits until rank 1, which has left its id, has ended.
  std::string OutliveRank1() const {
    const std::string id = directory_->path() + "/id";
    return "while ! [ -s " + id + " ] || kill -0 $(cat " + id + ") 2>/dev/null; do sleep 0.05; done\n";
  }
  std::string LeaveId() const { return "echo $$ > " + directory_->path() + "/id\n"; }

  /// A shell line that prints `event`.
  static std::string Print(const job::Event& event) { return "echo '" + job::ToJsonLine(event) + "'\n"; }

  std::string File(const std::string& name) const {
    const auto content = ReadFile(directory_->path() + "/" + name);
    return content.ok() ? *content : "";
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  LaunchOptions options_;
};

TEST_F(RanksTest, ARunIsCancelledAfterRank0HasEndedToo) {
  options_.cancelled = [this] { return File("ended") != ""; };
  const job::RunRecord record = Run("if [ $RANK = 0 ]; then " + Print(job::Ended{}) + "(sleep 0.3; echo x > " +
                                    directory_->path() + "/ended) >/dev/null 2>&1 & exit 0; fi; exec sleep 3600");
  EXPECT_LT(record.wall_seconds, 1800);
  EXPECT_NE(record.end, job::RunEnd::kDone);
}

TEST_F(RanksTest, EveryRankKnowsItself) {
  const job::RunRecord record = Run("env > " + directory_->path() + "/$RANK\n" + Print(job::Ended{}));
  EXPECT_EQ(record.end, job::RunEnd::kDone) << record.reason;
  for (const std::string rank : {"0", "1"}) {
    EXPECT_THAT(File(rank), AllOf(HasSubstr("LOCAL_RANK=" + rank + "\n"), HasSubstr("WORLD_SIZE=2\n"),
                                  HasSubstr("LOCAL_WORLD_SIZE=2\n"), HasSubstr("MASTER_ADDR=127.0.0.1\n"),
                                  HasSubstr("OMP_NUM_THREADS=" + std::to_string(ThreadsPerRank(2)) + "\n")));
  }
  const auto line = [&](const std::string& rank, const std::string& name) {
    const std::string text = File(rank);
    const size_t begin = text.find("\n" + name + "=");
    return text.substr(begin, text.find('\n', begin + 1) - begin);
  };
  EXPECT_EQ(line("0", "MASTER_PORT"), line("1", "MASTER_PORT"));
  EXPECT_EQ(line("0", "TORCHELASTIC_RUN_ID"), line("1", "TORCHELASTIC_RUN_ID"));
}

TEST_F(RanksTest, EventsAreThoseOfRankZero) {
  job::Step step;
  step.step = 1;
  const job::RunRecord record =
      Run(Print(job::Started{}) + "[ $RANK = 0 ] && " + Print(step) + "sleep 0.2\n" + Print(job::Ended{}));
  EXPECT_EQ(record.end, job::RunEnd::kDone) << record.reason;
  EXPECT_THAT(record.events, SizeIs(3));
}

TEST_F(RanksTest, AKilledRankEndsTheRunAndIsNamed) {
  job::Step step;
  step.step = 4;
  const std::string printed = directory_->path() + "/printed";
  const job::RunRecord record =
      Run("if [ $RANK = 1 ]; then while ! [ -e " + printed + " ]; do sleep 0.05; done\n" + LeaveId() +
          "sleep 0.3; kill -9 $$; fi\n" + Print(step) + "echo > " + printed + "\n" + OutliveRank1() + "exit 1");
  EXPECT_EQ(record.end, job::RunEnd::kKilled);
  EXPECT_EQ(record.signal, 9);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("rank 1: "), HasSubstr("SIGKILL) after step 4")));
}

TEST_F(RanksTest, TheFirstRankToFailSaysWhy) {
  job::Ended memory;
  memory.kind = job::EndKind::kOutOfMemory;
  memory.reason = "out of memory in forward";
  job::Ended lost;
  lost.kind = job::EndKind::kError;
  lost.reason = "rank 1 was lost";
  const job::RunRecord record = Run("if [ $RANK = 1 ]; then\n" + LeaveId() + Print(memory) + "exit 1; fi\n" +
                                    OutliveRank1() + Print(lost) + "exit 1");
  EXPECT_EQ(record.end, job::RunEnd::kOutOfMemory);
  EXPECT_EQ(record.reason, "rank 1: out of memory in forward");
}

TEST_F(RanksTest, ARankThatIsStuckWhenAnotherFailsIsEnded) {
  options_.own_end_seconds = 0.2;
  options_.grace_seconds = 0.2;
  const job::RunRecord record = Run("[ $RANK = 1 ] && exit 3\ntrap '' TERM\nwhile :; do sleep 0.05; done");
  EXPECT_EQ(record.end, job::RunEnd::kVanished);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("rank 1: "), HasSubstr("exit code 3")));
}

TEST_F(RanksTest, AllRanksAreCounted) {
  const std::string ticked = directory_->path() + "/ticked";
  options_.on_tick = [&](const measure::LiveSample&) { EXPECT_TRUE(WriteFileAtomically(ticked, "").ok()); };
  const job::RunRecord record =
      Run("i=0; while [ $i -lt 20000 ] || ! [ -e " + ticked + " ]; do i=$((i+1)); done\n" + Print(job::Ended{}));
  EXPECT_EQ(record.end, job::RunEnd::kDone);
  EXPECT_GT(record.cpu_seconds, 0);
  EXPECT_FALSE(record.samples.at("rss_tree_bytes").empty());
}

TEST(RankVariablesTest, NodesHaveEquallyManyRanksEach) {
  const auto variables = RankVariables({}, /*rank=*/3, /*ranks=*/4, /*nodes=*/2);
  EXPECT_EQ(variables.at("RANK") + variables.at("GROUP_RANK") + variables.at("LOCAL_RANK"), "311");
  EXPECT_EQ(variables.at("WORLD_SIZE") + variables.at("LOCAL_WORLD_SIZE"), "42");
}

TEST(RankVariablesTest, CoresAreShared) {
  EXPECT_GE(ThreadsPerRank(1), 1);
  EXPECT_EQ(ThreadsPerRank(100000), 1);
}

}  // namespace
}  // namespace assay::launch
