// Ranks as child processes of this program, on this machine.
#pragma once

#include <memory>

#include "base/status.h"
#include "launch/launcher.h"

namespace assay::launch {

/// One worker process a rank. Several know themselves by the variables that torchrun sets, and share the CPU threads of
/// the machine. Workers end with this process, whatever ends it.
class LocalLauncher : public Launcher {
 public:
  Result<std::unique_ptr<Submission>> Submit(const job::Plan& plan, const LaunchOptions& options) override;
};

/// LocalLauncher().Run(plan, options).
Result<job::RunRecord> RunWorker(const job::Plan& plan, const LaunchOptions& options);

}  // namespace assay::launch
