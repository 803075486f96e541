// Pre-authenticated requests: addresses whose holder needs no key.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  /// Whether it lets its holder do the operation of that name ("GetObject") there.
  bool Allows(std::string_view operation, const std::string& in_bucket, const std::string& on_object) const;
};

/// Those of a server, by the secret of their addresses; forgotten when the server ends. Thread-safe.
class PreauthenticatedRequests {
 public:
  /// Returns the secret, which is told this once.
  std::string Add(PreauthenticatedRequest request);
  /// Nothing where there is none, or not any more.
  std::optional<PreauthenticatedRequest> Find(std::string_view secret) const;
  std::vector<PreauthenticatedRequest> In(const std::string& bucket) const;
  bool Remove(const std::string& bucket, const std::string& id);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, PreauthenticatedRequest, std::less<>> requests_;  // by secret; guarded by mutex_
};

}  // namespace assay::objectserver::oci
