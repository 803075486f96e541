// Ranks on the machines of a Ray cluster.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "launch/launcher.h"
#include "launch/ray/ray_driver.h"

namespace assay::launch {

struct RayOptions {
  std::string address = {};                      ///< of the dashboard; empty: $RAY_API_SERVER_ADDRESS, else port 8265
  int64_t cpus_per_rank = 1;                     ///< that Ray sets aside
  std::map<std::string, double> resources = {};  ///< more of them, of each machine of a run, as the cluster names them
};

/// One job for all plans (RayDriver). Each plan is a placement group: the ranks of one of its machines together, the
/// machines apart. Programs, models and data stand under the same paths on every machine.
class RayLauncher : public Launcher {
 public:
  static Result<std::unique_ptr<Launcher>> Open(RayOptions options);

  Result<std::unique_ptr<Submission>> Submit(const job::Plan& plan, const LaunchOptions& options) override;
  bool runs_here() const override { return false; }
  int slots() const override;
  Result<std::string> Ask(const std::vector<std::string>& command) override;

 private:
  RayLauncher(RayOptions options, std::unique_ptr<RayDriver> driver)
      : options_(std::move(options)), driver_(std::move(driver)) {}

  const RayOptions options_;
  const std::unique_ptr<RayDriver> driver_;
};

}  // namespace assay::launch
