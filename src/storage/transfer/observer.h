// Sees every request that a store sends: for counting, and for showing what a transfer costs.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/client.h"

namespace assay::storage {

struct RequestRecord {
  std::string_view operation;  ///< "get", "put part"
  std::string_view method;
  int http_status = 0;  ///< 0: no answer came
  http::TransportError error = http::TransportError::kNone;
  int attempt = 1;       ///< above 1: a retry
  bool reissue = false;  ///< a second copy of a slow request
  bool new_connection = false;
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  double first_byte_seconds = 0;
  double total_seconds = 0;
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  /// Called from any thread; cheap.
  virtual void OnRequest(const RequestRecord& record) = 0;
};

}  // namespace assay::storage
