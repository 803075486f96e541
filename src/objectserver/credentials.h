// Who may use the server.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::objectserver {

/// A key of the native OCI API: who signs with it and its public half.
struct OciKey {
  std::string key_id;          ///< "tenancy/user/fingerprint"
  std::string public_key_pem;  ///< the text itself
  double expires = 0;          ///< seconds since 1970; 0: never
};

/// A service account of the GCS dialect: the token endpoint gives tokens for assertions that its key signed.
struct ServiceAccount {
  std::string client_email;
  std::string public_key_pem;
};

/// What a credentials file says:
///
///     keys:
///       - access_key_id: AKIAEXAMPLE
///         secret_access_key: abc
///         session_token: t     # optional
///         expires: 1760000000  # optional, seconds since 1970
///     tokens:                  # bearer tokens of the GCS dialect
///       - ya29.example
///       - {token: ya29.short, expires: 1760000000}
///     service_accounts:
///       - client_email: a@b.iam.gserviceaccount.com
///         public_key_file: key.pem
///     oci_keys:
///       - key_id: tenancy/user/fingerprint   # or ST$ and a session's token
///         public_key_file: key.pem
///         expires: 1760000000  # optional
class Credentials {
 public:
  /// Nobody is asked who he is.
  static Credentials Anonymous() { return {}; }
  static Result<Credentials> ReadFile(const std::string& path);

  bool anonymous() const { return anonymous_; }
  std::optional<storage::SigV4Secret> Find(std::string_view access_key_id) const;
  /// These two: at `now`, seconds since 1970.
  bool KnowsToken(std::string_view token, double now) const;
  const OciKey* FindOciKey(std::string_view key_id, double now) const;
  const ServiceAccount* FindServiceAccount(std::string_view client_email) const;

 private:
  bool anonymous_ = true;
  std::map<std::string, storage::SigV4Secret, std::less<>> keys_;
  std::map<std::string, double, std::less<>> tokens_;  ///< when they expire; 0: never
  std::vector<ServiceAccount> service_accounts_;
  std::vector<OciKey> oci_keys_;
};

}  // namespace assay::objectserver
