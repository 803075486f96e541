#include "launch/slurm_launcher.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace assay::launch
