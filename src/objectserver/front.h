// What stands before the dialects: it chooses one, counts what passes, and makes the modelled network of the profile.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "http/server.h"
#include "objectserver/context.h"
#include "objectserver/metrics.h"

namespace assay::objectserver {

class Liar;
struct RequestFate;

/// Thread-safe. `context` must outlive it.
class Front {
 public:
  explicit Front(const Context& context);
  ~Front();
  std::unique_ptr<http::Exchange> Open(http::RequestHead head);
  /// The counters of the connections, known once the server runs.
  void Serve(const http::ServerStats& stats) { stats_ = &stats; }
  std::string Metrics() const;

 private:
  std::string NextRequestId();
  /// Null when no dialect that is spoken has such paths.
  Dialect* DialectOf(const http::RequestHead& head) const;
  bool NamesBucket(const http::RequestHead& head) const;
  void CountFault(const RequestFate& fate, const std::string& operation);

  const Context& context_;
  std::unique_ptr<Dialect> s3_;
  std::unique_ptr<Dialect> gcs_;
  std::unique_ptr<Dialect> oci_;
  std::unique_ptr<Liar> liar_;  ///< where the profile knows lies
  objectserver::Metrics metrics_;
  std::atomic<uint64_t> request_count_ = 0;
  std::atomic<const http::ServerStats*> stats_ = nullptr;
};

}  // namespace assay::objectserver
