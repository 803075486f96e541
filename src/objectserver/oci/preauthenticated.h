// Pre-authenticated requests: addresses whose holder needs no key.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::objectserver::oci {

/// What the holder of one may do. Source: "Using Pre-Authenticated Requests" of the OCI documentation.
struct PreauthenticatedRequest {
  std::string id;
  std::string name;
  std::string bucket;
  std::string object;  ///< empty: any, or any under `prefix`
  std::string prefix;
  bool read = false;
  bool write = false;
  bool list = false;
  double created = 0;  ///< seconds since 1970
  double expires = 0;

  /// Whether it lets its holder do the operation of that name ("GetObject") to that object, or list what begins with
  /// `on`.
  bool Allows(std::string_view operation, const std::string& in_bucket, const std::string& on) const;
};

/// Those of a server; forgotten when it ends, unless a file keeps them. Secrets are not kept anywhere, only their
/// SHA-256. Thread-safe.
class PreauthenticatedRequests {
 public:
  /// Takes what the file at `path` holds, if there is one, and keeps every change there, in one step each. Before all
  /// else.
  Status UseFile(std::string path);
  /// Returns the secret of its address, which is told this once. An error: it does not serve, as it could not be kept.
  Result<std::string> Add(PreauthenticatedRequest request);
  /// Nothing where there is none, or not any more.
  std::optional<PreauthenticatedRequest> Find(std::string_view secret) const;
  std::vector<PreauthenticatedRequest> In(const std::string& bucket) const;
  /// False where there is none.
  Result<bool> Remove(const std::string& bucket, const std::string& id);

 private:
  using Requests = std::map<std::string, PreauthenticatedRequest>;
  /// Puts `changed` in place of what is, once it is kept.
  Status Change(Requests changed);

  std::string path_;  ///< empty: memory only
  mutable std::mutex mutex_;
  Requests requests_;  // by the SHA-256 of the secret, hexadecimal; guarded by mutex_
};

}  // namespace assay::objectserver::oci
