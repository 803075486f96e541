// The embedded object server: S3, Google Cloud Storage and OCI dialects over one store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "objectserver/options.h"

namespace assay::objectserver {

class Store;

/// A running server. The destructor stops it; what is on disk stays.
///
///     ServeOptions options;
///     options.buckets = {"test"};
///     auto server = ObjectServer::Start(options);  // memory, any free port, everybody may do everything
///     ... (*server)->url() ...
class ObjectServer {
 public:
  /// Opens the store (recovering a folder), listens and serves. Errors are one line: a port in use, a folder that
  /// cannot be written, malformed credentials or profile. Damaged records of a folder are none: see warnings().
  static Result<std::unique_ptr<ObjectServer>> Start(const ServeOptions& options);
  ~ObjectServer();
  ObjectServer(const ObjectServer&) = delete;
  ObjectServer& operator=(const ObjectServer&) = delete;

  const std::string& url() const;  ///< "http://127.0.0.1:41234"
  int port() const;
  /// One line for each damaged record of the folder, what it was and where it is now, and for content that stays
  /// because of them. The rest is served.
  const std::vector<std::string>& warnings() const;
  /// The store itself, for tests that look behind the protocol.
  Store& store();
  /// Prometheus text (version 0.0.4): what GET /metrics answers.
  std::string Metrics() const;
  void Stop();

 private:
  struct State;
  explicit ObjectServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::objectserver
