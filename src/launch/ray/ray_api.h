// What a Ray cluster's dashboard answers over HTTP: jobs, their logs, and packages, which are entries of the cluster's
// key-value store. https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/client.h"

namespace assay::launch {

struct RayJobState {
  std::string status;   ///< PENDING | RUNNING | STOPPED | SUCCEEDED | FAILED
  std::string message;  ///< why, one line
  std::string node_id;  ///< where its driver runs; empty: not known yet

  bool ended() const { return status == "STOPPED" || status == "SUCCEEDED" || status == "FAILED"; }
};

/// May be used from several threads at once. Errors are one line that names the address.
class RayApi {
 public:
  /// `address` as "http://HOST:8265". Clusters that ask for a token get the one that Ray's own programs would find.
  explicit RayApi(std::string address);

  /// Refuses what is no Ray, or a Ray that these calls do not fit.
  Status CheckVersion();
  /// Starts `entrypoint` as the job `id`.
  Status Submit(const std::string& id, const std::string& entrypoint);
  Result<RayJobState> State(const std::string& id);
  Status Stop(const std::string& id);
  /// Puts `text` where a program of the cluster finds it under the key "gcs://NAME".
  Status Put(const std::string& name, std::string_view text);

  /// Tells the job's output from its first byte, piece by piece, as it is written, from a thread of the client's.
  /// Blocks until the connection ends, which the end of the job does not bring about, or EndFollowing is called.
  Status FollowLog(const std::string& id, const std::string& node_id,
                   const std::function<void(std::string_view)>& on_piece);
  /// Ends the present call of FollowLog. From any thread.
  void BreakOff();
  /// Likewise, and all calls to come.
  void EndFollowing();

  const std::string& address() const { return address_; }

 private:
  http::Request RequestOf(const std::string& method, const std::string& path) const;
  Result<http::Response> Call(const std::string& method, const std::string& path, std::string_view body);

  const std::string address_;
  const std::string token_;
  http::Client client_;
  http::Client follower_;  ///< does not mind silence
  std::mutex mutex_;       ///< guards what is below
  bool ended_ = false;
  std::optional<http::TransferId> following_;
};

}  // namespace assay::launch
