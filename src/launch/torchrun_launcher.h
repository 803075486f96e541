// Ranks that torchrun starts on this machine.
#pragma once

#include <memory>

#include "base/status.h"
#include "launch/launcher.h"

namespace assay::launch {

/// torchrun (of $ASSAY_TORCHRUN, else of PATH) starts an agent for each rank, and tells it its rank. All end with this
/// process, whatever ends it.
class TorchrunLauncher : public Launcher {
 public:
  Result<std::unique_ptr<Submission>> Submit(const job::Plan& plan, const LaunchOptions& options) override;
};

}  // namespace assay::launch
