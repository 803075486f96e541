// Ranks on the machines of a Slurm cluster.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "launch/batch_submission.h"
#include "launch/launcher.h"

namespace assay::launch {

struct SlurmOptions {
  std::string partition = {};  ///< empty: the cluster's own default
  int64_t cpus_per_rank = 1;
  std::map<std::string, double> resources = {};  ///< more of them, of each machine, as generic resources (gres)
};

/// A batch job for each plan, with a task of one agent on each of its machines (sbatch, srun). Plan, lines and script
/// stand in a folder that all machines share: $ASSAY_SLURM_FOLDER, else of the user's cache. Slurm may requeue a job
/// that has not begun; one whose machine was lost is not, for that is for who submitted it to decide.
class SlurmLauncher : public Launcher {
 public:
  /// kNotFound where there is no sbatch.
  static Result<std::unique_ptr<Launcher>> Open(SlurmOptions options);

  Result<std::unique_ptr<Submission>> Submit(const job::Plan& plan, const LaunchOptions& options) override;
  bool runs_here() const override { return false; }
  /// Idle and busy CPUs of the partition, by `cpus_per_rank`.
  int slots() const override { return slots_; }
  Result<std::string> Ask(const std::vector<std::string>& command) override;

 private:
  SlurmLauncher(SlurmOptions options, int slots);

  const SlurmOptions options_;
  const int slots_;
  const std::unique_ptr<BatchQueue> queue_;
};

/// What `squeue`, the answer of squeue's --states=all --format='%T|%r' about one job, says of it. Only a controller
/// that answers says that a job ended: an error of `squeue` is returned, but for the one that it knows no such job.
Result<BatchState> SlurmState(const Result<std::string>& squeue);

/// The script of the batch job that runs `plan` in `folder`.
std::string SlurmScript(const job::TrainingPlan& plan, const SlurmOptions& options, const std::string& folder,
                        const std::string& agent, double sample_hz);

}  // namespace assay::launch
