// OCI request signatures: RSA-SHA256 over chosen headers, both halves.
//
// Source: "Request Signatures" in Oracle's API reference, which follows draft-cavage-http-signatures-08.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"
#include "storage/auth/rsa_key.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::storage {

struct OciSigning {
  bool host = true;         ///< Host is signed; requests to the auth service leave it out
  std::string_view sha256;  ///< base64 SHA-256 of the body; empty: the body is not signed, as PutObject allows
};

/// Adds Date (where there is none) and Authorization, and for a signed body Content-Type, Content-Length and
/// x-content-sha256.
Status SignOciRequest(const RsaKey& key, const std::string& key_id, double now, const OciSigning& signing,
                      http::Request& request);

/// Nothing for a key that does not exist.
using OciKeyLookup = std::function<std::optional<RsaKey>(std::string_view key_id)>;

/// The outcome. Refusals carry what OCI answers: `code` "NotAuthenticated" and status 401.
struct OciVerdict {
  enum class Kind { kAccepted, kAnonymous, kRefused };
  Kind kind = Kind::kAnonymous;  ///< anonymous: no Authorization at all
  std::string key_id;            ///< "tenancy/user/fingerprint" of accepted requests
  /// x-content-sha256, content-length and content-type are covered, as OCI wants them of every body but an object's and
  /// a part's: the server must compare the first with the body.
  bool body_signed = false;
  std::string_view code;
  int http_status = 0;
  std::string message;
};

/// Date, (request-target) and Host must be signed, and Date within five minutes of `now`.
OciVerdict VerifyOciRequest(const ReceivedRequest& request, const OciKeyLookup& lookup, double now);

}  // namespace assay::storage
