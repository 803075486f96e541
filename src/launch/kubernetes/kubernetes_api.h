// The REST API of a Kubernetes cluster, as far as batch jobs need it.
// Source: https://kubernetes.io/docs/reference/kubernetes-api/ (batch/v1 Job, core/v1 Pod, Node).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/status.h"
#include "http/client.h"

namespace assay::launch {

/// What jobs are to the cluster: its own, or sets that the controller of JobSet looks after.
struct JobKind {
  const char* api;  ///< its group and version
  const char* plural;
};
inline constexpr JobKind kJob = {.api = "batch/v1", .plural = "jobs"};
inline constexpr JobKind kJobSet = {.api = "jobset.x-k8s.io/v1alpha2", .plural = "jobsets"};

/// May be used from several threads at once. Errors are one line that names the address: kIo where the server does not
/// answer, or not now.
class KubernetesApi {
 public:
  /// `address` as "https://HOST:6443", or "http://127.0.0.1:8001" of `kubectl proxy`; empty: the cluster in which we
  /// are a pod. Token, authority and namespace stand in the folder $ASSAY_KUBERNETES_ACCOUNT, else where pods have
  /// their service account's; $ASSAY_KUBERNETES_NAMESPACE names another namespace. Refuses what is no Kubernetes, or
  /// one that these calls do not fit.
  static Result<std::unique_ptr<KubernetesApi>> Open(const std::string& address, const JobKind& kind);

  /// kIo where it may be taken later, whether or not it is there by now; ok where there is one of the name: names are
  /// drawn, and what was sent twice is taken once.
  Status CreateJob(const nlohmann::json& job);
  /// Nothing where there is none of the name.
  Result<std::optional<nlohmann::json>> FindJob(const std::string& name);
  /// With its pods. Ok where there is none of the name.
  Status DeleteJob(const std::string& name);
  /// Those with that label.
  Result<nlohmann::json> PodsOf(const std::string& label, const std::string& value);
  /// kPermissionDenied where the account may not see machines.
  Result<nlohmann::json> Nodes();

 private:
  KubernetesApi(std::string address, std::string account, const std::string& name_space, const JobKind& kind);
  Result<http::Response> Send(const std::string& method, const std::string& path, const std::string& body);
  /// An answer of 2xx, as JSON.
  Result<nlohmann::json> Call(const std::string& method, const std::string& path, const std::string& body = "");
  Status Refused(const std::string& method, const std::string& path, const http::Response& response) const;
  Status CheckVersion();

  const std::string address_;
  const std::string account_;  ///< folder
  const std::string jobs_;     ///< path of the namespace's
  const std::string pods_;
  http::Client client_;
};

}  // namespace assay::launch
