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
///     tokens: [ya29.example]   # bearer tokens of the GCS dialect
///     service_accounts:
///       - client_email: a@b.iam.gserviceaccount.com
///         public_key_file: key.pem
///     oci_keys:
///       - key_id: tenancy/user/fingerprint
///         public_key_file: key.pem
class Credentials {
 public:
  /// Nobody is asked who he is.
  static Credentials Anonymous() { return {}; }
  static Result<Credentials> ReadFile(const std::string& path);

  bool anonymous() const { return anonymous_; }
  std::optional<storage::SigV4Secret> Find(std::string_view access_key_id) const;
  bool KnowsToken(std::string_view token) const;
  const ServiceAccount* FindServiceAccount(std::string_view client_email) const;
  const OciKey* FindOciKey(std::string_view key_id) const;

 private:
  bool anonymous_ = true;
  std::map<std::string, storage::SigV4Secret, std::less<>> keys_;
  std::vector<std::string> tokens_;
  std::vector<ServiceAccount> service_accounts_;
  std::vector<OciKey> oci_keys_;
};

}  // namespace assay::objectserver
