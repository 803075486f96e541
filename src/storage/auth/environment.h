// What signers and credential chains need of the world outside: injected, so that tests need no network and no clock.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "http/message.h"

namespace assay::storage {

/// Sends a request and waits for its answer. Called from any thread.
using Fetch = std::function<Result<http::Response>(const http::Request&)>;

struct Environment {
  Fetch fetch;
  /// A variable of the process's environment; an empty value counts as absent.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// Seconds since 1970.
  std::function<double()> now;

  /// The user's home folder: HOME, else the system's.
  std::string Home() const;
  /// `path` with a leading "~/" replaced by the home folder.
  std::string ExpandUser(const std::string& path) const;
};

/// The process's own environment and clock.
Environment SystemEnvironment(Fetch fetch);

}  // namespace assay::storage
