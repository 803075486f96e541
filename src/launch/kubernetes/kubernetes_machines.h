// What the machines of a Kubernetes cluster have, and whether a job asks for more.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.h"

namespace assay::launch {

/// The cluster's machines, which seldom change: of hundreds of them the list is long, and of hundreds of jobs each that
/// waits would ask for it every second. From several threads.
class KubernetesMachines {
 public:
  /// `list` asks for the nodes as the API server tells them; an error where they may not be seen.
  explicit KubernetesMachines(std::function<Result<nlohmann::json>()> list) : list_(std::move(list)) {}

  /// Why the cluster can never take `job`, one line; nothing where it can, or its machines may not be seen. That it can
  /// is told by a list of the last minute, that it cannot only by one that is asked for now.
  std::optional<std::string> Lacking(const nlohmann::json& job);

 private:
  /// As they were at `not_before` or later, of MonotonicSeconds(); nullptr where they may not be seen.
  std::shared_ptr<const nlohmann::json> Look(double not_before);

  const std::function<Result<nlohmann::json>()> list_;
  std::mutex mutex_;
  std::optional<double> looked_at_;             ///< guarded by mutex_
  std::shared_ptr<const nlohmann::json> seen_;  ///< guarded by mutex_
};

}  // namespace assay::launch
