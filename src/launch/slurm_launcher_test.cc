#include "launch/slurm_launcher.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace assay::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SlurmScriptTest, AsksForWhatAPlanNeeds) {
  job::VitPlan plan;
  plan.number_ranks = 8;
  plan.number_nodes = 2;
  plan.device = "cuda";
  const std::string script = SlurmScript(plan, {.partition = "big", .cpus_per_rank = 3, .resources = {{"roce", 1}}},
                                         "/shared/it's", "/bin/agent", 5);
  EXPECT_THAT(script, AllOf(HasSubstr("#SBATCH --nodes=2\n"), HasSubstr("#SBATCH --ntasks-per-node=1\n"),
                            HasSubstr("#SBATCH --cpus-per-task=12\n"), HasSubstr("#SBATCH --partition=big\n"),
                            HasSubstr("#SBATCH --gres=gpu:4,roce:1\n"), HasSubstr("#SBATCH --no-requeue\n")));
  EXPECT_THAT(script, HasSubstr("'/shared/it'\\''s/plan.json'"));
}

TEST(SlurmScriptTest, LeavesOutWhatIsNotAskedFor) {
  const std::string script = SlurmScript(job::TunePlan(), {}, "/shared/a", "/bin/agent", 10);
  EXPECT_THAT(script, AllOf(Not(HasSubstr("--partition")), Not(HasSubstr("--gres"))));
}

BatchState StateOf(const Result<std::string>& squeue) {
  const Result<BatchState> state = SlurmState(squeue);
  EXPECT_TRUE(state.ok()) << state.status().message();
  return state.ok() ? *state : BatchState();
}

TEST(SlurmStateTest, AControllerThatDoesNotAnswerSaysNothingOfAJob) {
  for (const char* words : {"Unable to contact slurm controller (connect failure)",
                            "Socket timed out on send/recv operation", "no answer for 20 s"}) {
    const Result<BatchState> state =
        SlurmState(Status::Io(std::string("squeue ended with exit code 1: slurm_load_jobs error: ") + words));
    EXPECT_EQ(state.status().code(), ErrorCode::kIo);
    EXPECT_THAT(state.status().message(), HasSubstr(words));
  }
}

TEST(SlurmStateTest, AJobHasEndedWhenTheControllerSaysSoOrKnowsItNoMore) {
  const BatchState lost = StateOf(std::string("NODE_FAIL|None\n"));
  EXPECT_EQ(lost.phase, BatchState::Phase::kEnded);
  EXPECT_EQ(lost.why, "NODE_FAIL");
  for (const Result<std::string>& none :
       {Result<std::string>(std::string()),
        Result<std::string>(Status::Io("slurm_load_jobs error: Invalid job id specified"))}) {
    EXPECT_EQ(StateOf(none).phase, BatchState::Phase::kEnded);
    EXPECT_EQ(StateOf(none).why, "gone");
  }
}

TEST(SlurmStateTest, AJobThatIsStoppedOrBeginsLives) {
  for (const char* state : {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING"}) {
    EXPECT_EQ(StateOf(state + std::string("|None\n")).phase, BatchState::Phase::kRunning) << state;
  }
}

TEST(SlurmStateTest, OnlyWhatNoTimeChangesNeverStarts) {
  EXPECT_EQ(StateOf(std::string("PENDING|BadConstraints\n")).phase, BatchState::Phase::kNever);
  for (const char* reason : {"Resources", "ReqNodeNotAvail, UnavailableNodes:n1", "Priority"}) {
    const BatchState waiting = StateOf("PENDING|" + std::string(reason) + "\n");
    EXPECT_EQ(waiting.phase, BatchState::Phase::kWaiting);
    EXPECT_EQ(waiting.why, reason);
  }
}

/// With programs of Slurm's that are scripts, and a short patience with them.
class SlurmLauncherTest : public testing::Test {
 protected:
  SlurmLauncherTest() {
    ::setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
    ::setenv("ASSAY_SLURM_PATIENCE", "0.2", 1);
  }
  ~SlurmLauncherTest() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("ASSAY_SLURM_PATIENCE");
  }

  void Write(const std::string& name, const std::string& script) const {
    const std::string program = folder_.path() + "/" + name;
    ASSERT_TRUE(WriteFileAtomically(program, "#!/bin/sh\n" + script + "\n").ok());
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  const TemporaryDirectory folder_ = *TemporaryDirectory::Create("slurm");
  const std::string path_ = std::getenv("PATH");
};

TEST_F(SlurmLauncherTest, AControllerThatIsSilentIsNamedByTheCommandThatWaited) {
  Write("sinfo", "sleep 1000");
  const Result<std::unique_ptr<Launcher>> launcher = SlurmLauncher::Open({});
  EXPECT_EQ(launcher.status().code(), ErrorCode::kIo);
  EXPECT_THAT(launcher.status().message(), HasSubstr("sinfo --noheader --format=%C did not answer for 0.2 s"));
}

TEST_F(SlurmLauncherTest, AQuestionWaitsForMachinesButNotForASilentController) {
  ::setenv("ASSAY_SLURM_PATIENCE", "0.3", 1);
  Write("sinfo", "echo 0/4/0/4");
  const std::unique_ptr<Launcher> launcher = *SlurmLauncher::Open({});
  Write("srun",
        "echo 'srun: job 7 queued and waiting for resources' >&2; sleep 5\n"
        "echo 'srun: job 7 has been allocated resources' >&2; echo here");
  EXPECT_EQ(*launcher->Ask({"who"}), "here\n");
  Write("srun", "exec sleep 20");
  const Result<std::string> silent = launcher->Ask({"who"});
  EXPECT_EQ(silent.status().code(), ErrorCode::kIo);
  EXPECT_THAT(silent.status().message(), AllOf(HasSubstr("srun --nodes=1"), HasSubstr("did not answer for 3 s")));
}

}  // namespace
}  // namespace assay::launch
