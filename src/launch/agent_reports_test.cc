#include "launch/agent_reports.h"

#include <gmock/gmock.h>

#include <csignal>

#include "launch/gather.h"

namespace assay::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kCommit[] = "c0ffee";

job::Plan TwoMachines() {
  job::VitPlan plan;
  plan.number_ranks = 2;
  plan.number_nodes = 2;
  return plan;
}

class AgentReportsTest : public testing::Test {
 protected:
  template <typename Said>
  void Say(int node, Said said) {
    EXPECT_TRUE(reports_.Take(ToJsonLine(AgentLine{.node = node, .said = std::move(said)})));
  }

  void Start(int node, double unix_seconds, const std::string& commit = kCommit) {
    Say(node, AgentStarted{node, 1, unix_seconds, {{"host", "node" + std::to_string(node)}, {"commit", commit}}});
  }

  void End(int node, double at) {
    Say(node, AgentEvent{node, at, job::Ended{}});
    Say(node, AgentRankEnded{node, at, {.exited = true, .cpu_seconds = 2, .max_rss_bytes = 100 + node}, "words"});
    Say(node, AgentEnded{{.free_bytes = 5, .total_bytes = 10}, 0.25 * node, 0.5});
  }

  job::RunRecord Record() { return Gather(plan_, reports_.TakeReports(), /*interrupted=*/false, 10); }

  const job::Plan plan_ = TwoMachines();
  LaunchOptions options_;
  AgentReports reports_{plan_, 2, kCommit, options_};
};

TEST_F(AgentReportsTest, MachinesMakeOneRecordOnOneClock) {
  std::vector<std::string> seen;
  options_.on_event = [&](const job::Event& event) { seen.push_back(job::ToJsonLine(event)); };
  Start(0, 1000);
  Start(1, 1000.5);
  Say(0, AgentEvent{0, 0.1, job::Step{.step = 1}});
  Say(1, AgentEvent{1, 0.1, job::RankStep{.rank = 1, .step = 1}});
  Say(0, AgentSamples{{{"time_s", {0, 1}}, {"cpu_tree_percent", {50, 60}}}});
  Say(1, AgentSamples{{{"time_s", {0, 1}}, {"cpu_tree_percent", {10, 20}}}});
  End(0, 2);
  EXPECT_FALSE(reports_.all_ended());
  End(1, 2);
  ASSERT_TRUE(reports_.all_ended());
  const job::RunRecord record = Record();
  EXPECT_EQ(record.end, job::RunEnd::kDone) << record.reason;
  EXPECT_THAT(seen, SizeIs(2));
  EXPECT_THAT(record.events, SizeIs(3));
  EXPECT_THAT(record.event_seconds, ElementsAre(0.1, 2, 0.6));
  EXPECT_THAT(record.samples.at("cpu_tree_percent"), ElementsAre(50, 70));
  EXPECT_EQ(record.max_rss_bytes, 101);
  EXPECT_EQ(record.cpu_seconds, 4);
  EXPECT_EQ(record.stood_still_seconds, 0.25);
  EXPECT_EQ(record.machine.at("host"), "node0");
}

TEST_F(AgentReportsTest, ALostMachineIsNamed) {
  Start(0, 1000);
  Start(1, 1000);
  Say(0, AgentEvent{0, 0.2, job::Step{.step = 3}});
  reports_.Lose(1, "its raylet died");
  End(0, 4);
  reports_.Lose(0, "never heard: it has said all");
  const job::RunRecord record = Record();
  EXPECT_EQ(record.end, job::RunEnd::kLost);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("rank 1"), HasSubstr("machine node1 was lost: its raylet died")));
  EXPECT_EQ(EndStatus(record).code(), ErrorCode::kInternal);
}

TEST_F(AgentReportsTest, AnotherBuildIsRefused) {
  Start(0, 1000);
  EXPECT_TRUE(reports_.refused().ok());
  Start(1, 1000, "decaf");
  EXPECT_THAT(reports_.refused().message(), AllOf(HasSubstr("node1"), HasSubstr("decaf"), HasSubstr(kCommit)));
}

TEST_F(AgentReportsTest, WhatIsNoLineOfAnAgentIsLeft) {
  for (const char* line : {"", "hello", "{}", "[1]", R"({"agent":"ended","node":7,"is":{}})",
                           R"({"agent":"event","node":0,"is":{"rank":0,"at":1,"event":{"event":"party"}}})",
                           R"({"agent":"rank_ended","node":0,"is":{"rank":"x"}})"}) {
    EXPECT_FALSE(reports_.Take(line)) << line;
  }
  // Of a rank that another machine has.
  EXPECT_TRUE(reports_.Take(ToJsonLine({.node = 0, .said = AgentEvent{1, 0.1, job::Step{}}})));
  EXPECT_FALSE(reports_.all_ended());
}

TEST_F(AgentReportsTest, AnAgentThatCannotStartItsRanksSaysWhy) {
  Start(0, 1000);
  Say(0, AgentRefused{"cannot start a worker: /nowhere is not there"});
  EXPECT_EQ(reports_.refused().code(), ErrorCode::kNotFound);
  EXPECT_THAT(reports_.refused().message(), HasSubstr("/nowhere"));
}

TEST_F(AgentReportsTest, WhatRanksUseNowAddsUp) {
  Say(0, AgentLive{{.time_s = 1, .cpu_tree_percent = 10, .rss_tree_bytes = 5}});
  Say(1, AgentLive{{.time_s = 2, .cpu_tree_percent = 20, .rss_tree_bytes = 7}});
  const measure::LiveSample sum = reports_.Latest();
  EXPECT_EQ(sum.cpu_tree_percent, 30);
  EXPECT_EQ(sum.rss_tree_bytes, 12);
  EXPECT_EQ(sum.time_s, 2);
}

}  // namespace
}  // namespace assay::launch
