#include "launch/batch_submission.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>

#include "base/files.h"
#include "launch/agent_lines.h"

namespace assay::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Its one job is as `look` says.
class Queue : public BatchQueue {
 public:
  Result<std::string> Enqueue(const BatchJob& /*job*/) override { return std::string("7"); }
  Result<BatchState> Look(const std::string& /*name*/) override { return look(++looks); }
  void Cancel(const std::string& /*name*/) override { ++cancels; }
  std::string Describe(const std::string& name) const override { return "job " + name; }

  std::function<Result<BatchState>(int number)> look;
  std::atomic<int> looks = 0;
  std::atomic<int> cancels = 0;
};

class BatchSubmissionTest : public testing::Test {
 protected:
  /// How the run of a job ends that the queue tells of as `look` says.
  job::RunRecord Follow(std::function<Result<BatchState>(int number)> look) {
    queue_.look = std::move(look);
    BatchSubmission submission(plan_, options_, queue_, run_, /*look_seconds=*/0.001);
    EXPECT_TRUE(submission.Start("agent").ok());
    EXPECT_TRUE(submission.Follow().ok());
    return submission.Outcome();
  }

  void Say(const AgentLine& line) { std::ofstream(run_ + "/lines/0", std::ios::app) << ToJsonLine(line) << "\n"; }
  void SayTheEnd() {
    AgentRankEnded ended;
    ended.end.exited = true;
    ended.stderr_tail = "my own end";
    Say({.node = 0, .said = ended});
    Say({.node = 0, .said = AgentEnded()});
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("batch");
  const std::string run_ = folder_.path() + "/run";
  const job::Plan plan_ = job::TunePlan();
  LaunchOptions options_;
  Queue queue_;
};

TEST_F(BatchSubmissionTest, ARunThatTellsOfItselfOutlivesItsQueuesAbsence) {
  const job::RunRecord record = Follow([this](int number) -> Result<BatchState> {
    if (number < 200) {
      Say({.node = 0, .said = AgentLive()});
    } else {
      SayTheEnd();
    }
    return Status::Io("503");
  });
  EXPECT_GE(queue_.looks, 200);
  EXPECT_EQ(record.end, job::RunEnd::kVanished);
  EXPECT_THAT(record.reason, HasSubstr("my own end"));
}

TEST_F(BatchSubmissionTest, ARunOfWhichNobodySaysAnythingIsLost) {
  const job::RunRecord record = Follow([](int) -> Result<BatchState> { return Status::Io("503"); });
  EXPECT_EQ(record.end, job::RunEnd::kLost);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("nobody says any more what becomes of job 7"), HasSubstr("503")));
}

TEST_F(BatchSubmissionTest, ARunIsFollowedToItsEndWhileItsQueueIsSilent) {
  std::promise<void> followed;
  bool answered = false;
  queue_.look = [&](int) -> Result<BatchState> {
    SayTheEnd();
    followed.get_future().wait_for(std::chrono::seconds(10));
    answered = true;
    return Status::Io("silent");
  };
  BatchSubmission submission(plan_, options_, queue_, run_, /*look_seconds=*/0.001);
  ASSERT_TRUE(submission.Start("agent").ok());
  EXPECT_TRUE(submission.Follow().ok());
  EXPECT_FALSE(answered);
  followed.set_value();
  EXPECT_THAT(submission.Outcome().reason, HasSubstr("my own end"));
}

TEST_F(BatchSubmissionTest, AgentsOfARunThatWasCancelledAreToldInItsFolder) {
  queue_.look = [&](int number) -> Result<BatchState> {
    const Result<std::string> alive = ReadFile(run_ + "/alive");
    if (number == 4) {
      EXPECT_EQ(alive.ok() ? *alive : "unread", "");
      SayTheEnd();
    }
    return BatchState{BatchState::Phase::kRunning};
  };
  options_.cancelled = [] { return true; };
  BatchSubmission submission(plan_, options_, queue_, run_, /*look_seconds=*/0.001);
  ASSERT_TRUE(submission.Start("agent").ok());
  EXPECT_TRUE(submission.Follow().ok());
}

TEST_F(BatchSubmissionTest, AJobThatWaitsIsCancelledUntilItsQueueTakesIt) {
  options_.cancelled = [] { return true; };
  const job::RunRecord record = Follow([&](int number) {
    const bool is_over = queue_.cancels > 2 || number > 1000;
    return BatchState{is_over ? BatchState::Phase::kEnded : BatchState::Phase::kWaiting};
  });
  EXPECT_LT(queue_.looks, 1000);
  EXPECT_EQ(record.end, job::RunEnd::kLost);
}

TEST_F(BatchSubmissionTest, AFailureToSayThatWeLiveIsNotTheEnd) {
  const std::string alive = run_ + "/alive";
  std::atomic<bool> broken = false;
  int ticks = 0;
  options_.on_tick = [&](const measure::LiveSample&) {
    if (broken && ++ticks == 20) {
      std::filesystem::remove(alive);
    }
  };
  const job::RunRecord record = Follow([&](int number) -> Result<BatchState> {
    if (number == 1) {
      std::error_code taken;  // by a file again
      while (!std::filesystem::is_directory(alive)) {
        std::filesystem::remove(alive, taken);
        std::filesystem::create_directory(alive, taken);  // where a file shall be
      }
      broken = true;
      return BatchState{BatchState::Phase::kRunning};
    }
    SayTheEnd();
    return BatchState{BatchState::Phase::kRunning};
  });
  EXPECT_GE(ticks, 20);
  EXPECT_THAT(record.reason, HasSubstr("my own end"));
}

TEST_F(BatchSubmissionTest, WhatTheKernelEndedWithItsAgentIsOutOfMemory) {
  const BatchState ended{.phase = BatchState::Phase::kEnded, .why = "failed", .out_of_memory = true};
  const job::RunRecord record = Follow([&](int) -> Result<BatchState> { return ended; });
  EXPECT_EQ(record.end, job::RunEnd::kOutOfMemory);
  EXPECT_EQ(record.signal, SIGKILL) << "the kernel found it";
  EXPECT_THAT(record.reason, HasSubstr("out of memory: job 7 ended as failed"));
}

TEST_F(BatchSubmissionTest, WhatEndedOtherwiseIsLost) {
  const job::RunRecord record =
      Follow([](int) -> Result<BatchState> { return BatchState{BatchState::Phase::kEnded, "failed"}; });
  EXPECT_EQ(record.end, job::RunEnd::kLost);
  EXPECT_THAT(record.reason, HasSubstr("job 7 ended as failed: it said nothing"));
}

}  // namespace
}  // namespace assay::launch
