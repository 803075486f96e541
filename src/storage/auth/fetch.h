// Requests to services that hand out credentials.
#pragma once

#include <string>

#include "storage/auth/environment.h"

namespace assay::storage {

struct FetchOptions {
  double connect_timeout_seconds = 10;
  double stall_timeout_seconds = 20;
  std::string ca_file{};  ///< PEM; empty: the system's
  std::string proxy{};    ///< empty: the environment's
};

/// A fetch over HTTP clients of its own, for tokens and metadata: three attempts where a failure may pass. Answers of
/// metadata services are awaited for a second only (AWS_METADATA_SERVICE_TIMEOUT), others for as long as `options` say.
/// TLS is always checked, plain http refused but to this machine and its metadata services, and to these no proxy is
/// used (credential_address.h).
Fetch MakeFetch(const FetchOptions& options);

}  // namespace assay::storage
