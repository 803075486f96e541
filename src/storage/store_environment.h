// The process's environment as the credential chains of a store see it.
#pragma once

#include "storage/auth/environment.h"
#include "storage/auth/fetch.h"
#include "storage/options.h"

namespace assay::storage {

/// Tokens and metadata are fetched with the time limits, the authorities and the proxy of `options`.
inline Environment EnvironmentOf(const StoreOptions& options) {
  return SystemEnvironment(MakeFetch({.connect_timeout_seconds = options.connect_timeout_seconds,
                                      .stall_timeout_seconds = options.stall_timeout_seconds,
                                      .ca_file = options.ca_file,
                                      .proxy = options.proxy}));
}

}  // namespace assay::storage
