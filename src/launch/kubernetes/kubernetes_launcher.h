// Ranks on the machines of a Kubernetes cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "launch/kubernetes/kubernetes_job.h"
#include "launch/launcher.h"

namespace assay::launch {

/// An indexed Job for each plan, with a pod of one agent on each of its machines. Plan and lines stand in a folder that
/// the pods mount under the same path: $ASSAY_KUBERNETES_FOLDER. A job whose machine was lost is not begun again by the
/// cluster, for that is for who submitted it to decide.
class KubernetesLauncher : public Launcher {
 public:
  ~KubernetesLauncher() override;
  static Result<std::unique_ptr<Launcher>> Open(KubernetesOptions options);

  Result<std::unique_ptr<Submission>> Submit(const job::Plan& plan, const LaunchOptions& options) override;
  bool runs_here() const override { return false; }
  /// CPUs of all machines by `cpus_per_rank`; 1 where the account may not see machines.
  int slots() const override { return slots_; }
  Result<std::string> Ask(const std::vector<std::string>& command) override;

 private:
  struct Parts;
  KubernetesLauncher(std::unique_ptr<Parts> parts, int slots);

  const std::unique_ptr<Parts> parts_;
  const int slots_;
};

}  // namespace assay::launch
