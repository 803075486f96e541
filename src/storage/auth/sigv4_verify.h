// The server's half of Signature Version 4: is a request signed by whom it says, and is each chunk of its body?
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/message.h"
#include "storage/auth/rsa_key.h"
#include "storage/auth/sha256.h"
#include "storage/auth/sigv4.h"

namespace assay::storage {

/// A request as it came off the wire. Views: it must outlive the call.
struct ReceivedRequest {
  std::string_view method;
  std::string_view path;   ///< raw, from the request line: percent-encoded, without the query
  std::string_view query;  ///< raw, without '?'
  const http::Headers* headers = nullptr;
};

/// What a server knows of an access key.
struct SigV4Secret {
  std::string secret_access_key;
  std::string session_token;  ///< requests must carry it; empty: they must carry none
  double expires = 0;         ///< of the session, seconds since 1970; 0: never
};
/// Nothing for a key that does not exist.
using SecretLookup = std::function<std::optional<SigV4Secret>(std::string_view access_key_id)>;

struct SigV4VerifyOptions {
  std::string region;  ///< empty: any; Google's dialects may say "auto" instead
  double now = 0;      ///< seconds since 1970
  double max_skew_seconds = 15 * 60;
  /// Public keys of service accounts, by their address, for URLs signed with GOOG4-RSA-SHA256; empty: there are none.
  std::function<std::optional<RsaKey>(std::string_view email)> service_account_key = nullptr;
};

/// What the signature says, once it was believed.
struct SigV4Identity {
  SigV4Key key;
  const SigV4Dialect* dialect = nullptr;
  std::string timestamp;
  std::string signature;  ///< seed of the chunk signatures
  std::string
      payload_hash;  ///< 64 hexadecimal digits, which the server must compare with the body, or one of the constants
  bool presigned = false;
};

/// The outcome. Refusals carry what S3 answers: `code` and `http_status`.
struct SigV4Verdict {
  enum class Kind { kAccepted, kAnonymous, kRefused };
  Kind kind = Kind::kAnonymous;  ///< anonymous: the request carries no signature at all
  SigV4Identity identity;        ///< of accepted requests

  std::string_view code;  ///< "SignatureDoesNotMatch", "InvalidAccessKeyId", "RequestTimeTooSkewed", ...
  int http_status = 0;
  std::string message;            ///< as S3 words it; never a secret
  std::string canonical_request;  ///< for SignatureDoesNotMatch: what the server computed
  std::string string_to_sign;
};

/// Understands the Authorization header and presigned URLs, in the dialects AWS4-HMAC-SHA256, GOOG4-HMAC-SHA256 and,
/// for presigned URLs, GOOG4-RSA-SHA256. Stricter than S3: x-amz-content-sha256 is required, and every x-amz-* header
/// and Host must be signed.
SigV4Verdict VerifySigV4(const ReceivedRequest& request, const SecretLookup& lookup, const SigV4VerifyOptions& options);

/// Checks the chunk signatures of a STREAMING-AWS4-HMAC-SHA256-PAYLOAD[-TRAILER] body, in order. Belongs to one thread.
class ChunkVerifier {
 public:
  explicit ChunkVerifier(const SigV4Identity& identity);

  /// Data of the current chunk, in as many pieces as they come.
  void Update(std::span<const std::byte> data) { hash_.Update(data); }
  /// The current chunk (the last one is empty) is over. False when `signature`, hexadecimal, is not the right one.
  bool FinishChunk(std::string_view signature);
  /// After the last chunk: `trailers` is "name:value\n" for each trailer, names in lower case, values trimmed, without
  /// x-amz-trailer-signature itself.
  bool CheckTrailer(std::string_view trailers, std::string_view signature);

 private:
  SigV4Key key_;
  std::string timestamp_;
  std::string previous_signature_;
  Sha256Stream hash_;
};

}  // namespace assay::storage
