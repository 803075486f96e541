// Bearer tokens: those of the credentials file, and those that the server's own token endpoint gave out.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "objectserver/credentials.h"

namespace assay::objectserver {

/// Thread-safe. `credentials` must outlive it.
class Tokens {
 public:
  static constexpr double kLifetimeSeconds = 3600;

  explicit Tokens(const Credentials& credentials) : credentials_(credentials) {}
  bool Knows(std::string_view token) const;
  /// A new token for a signed assertion (RFC 7523): a JWT, RS256, of a service account that the credentials name.
  /// Servers that ask nobody who he is take any assertion.
  Result<std::string> Exchange(std::string_view assertion);
  /// A new token for whoever asks. Only for servers that ask nobody who he is.
  std::string Issue();

 private:
  const Credentials& credentials_;
  mutable std::mutex mutex_;
  std::map<std::string, double, std::less<>> issued_;  ///< token to its end, seconds since 1970
};

}  // namespace assay::objectserver
