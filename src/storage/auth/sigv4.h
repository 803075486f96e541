// AWS Signature Version 4 as S3 uses it, and the variants of it that Google Cloud Storage accepts.
//
// Source: "Signature Calculations for the Authorization Header" in the Amazon S3 API reference and "Signatures" in the
// Cloud Storage documentation. The path is encoded once, and which headers are signed follows botocore.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "storage/auth/sha256.h"

namespace assay::storage {

/// What differs between the dialects of the scheme.
struct SigV4Dialect {
  std::string_view algorithm;      ///< first line of the string to sign
  std::string_view key_prefix;     ///< put before the secret
  std::string_view terminator;     ///< last part of the credential scope
  std::string_view header_prefix;  ///< lower case: "x-amz-"
  std::string_view query_prefix;   ///< "X-Amz-"
};

inline constexpr SigV4Dialect kAws4Hmac = {"AWS4-HMAC-SHA256", "AWS4", "aws4_request", "x-amz-", "X-Amz-"};
inline constexpr SigV4Dialect kGoog4Hmac = {"GOOG4-HMAC-SHA256", "GOOG4", "goog4_request", "x-goog-", "X-Goog-"};
/// Signed with a service account's key: no signing key of its own.
inline constexpr SigV4Dialect kGoog4Rsa = {"GOOG4-RSA-SHA256", "", "goog4_request", "x-goog-", "X-Goog-"};

/// No store takes a URL that was signed for longer.
inline constexpr int64_t kLongestPresignSeconds = 7 * 24 * 3600;

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view kStreamingUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
inline constexpr std::string_view kStreamingSigned = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
inline constexpr std::string_view kStreamingSignedTrailer = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
/// SHA-256 of nothing.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The credential scope: "20260131/us-east-1/s3/aws4_request" is date, region, service, terminator.
struct SigV4Scope {
  std::string date;  ///< YYYYMMDD
  std::string region;
  std::string service;

  std::string Text(const SigV4Dialect& dialect) const;
};

/// The key that signs every request of one scope.
Sha256Digest SigningKey(const SigV4Dialect& dialect, std::string_view secret, const SigV4Scope& scope);

/// A header as it enters the canonical request.
struct CanonicalHeader {
  std::string name;        ///< lower case
  std::string_view value;  ///< as it was given; trimmed and folded when written
};

/// The path of a request as S3 canonicalises it: each byte but "A-Za-z0-9-._~/" as %XX in upper case, once. A '%' that
/// begins no escape is taken literally. Appended to `text`.
void AppendCanonicalPath(std::string& text, std::string_view path);
/// The query likewise, sorted by name and value; a '+' is a space, a parameter without '=' has an empty value. The
/// parameter `leave_out` (its name in any case) is not part of it.
void AppendCanonicalQuery(std::string& text, std::string_view query, std::string_view leave_out = {});

/// The parts of a request that a signature covers. Views: the request must outlive it.
struct CanonicalParts {
  std::string_view method{};
  std::string_view path{};                 ///< as on the request line
  std::string_view query{};                ///< as on the request line, without '?'
  std::string_view query_left_out{};       ///< name of the signature's own parameter
  std::vector<CanonicalHeader> headers{};  ///< any order
  std::string_view payload_hash{};
};

/// Sorts `parts.headers` and writes the canonical request.
std::string CanonicalRequest(CanonicalParts& parts);
/// "host;x-amz-date" of sorted headers.
std::string SignedHeaderNames(const std::vector<CanonicalHeader>& headers);
/// Whether a client signs that header: all but those that connections and proxies change. Any case.
bool IsSignedHeader(std::string_view name);

std::string StringToSign(const SigV4Dialect& dialect, std::string_view timestamp, std::string_view scope,
                         std::string_view canonical_request);

/// Who signs, and for where. `signing_key` belongs to `scope`.
struct SigV4Key {
  std::string access_key_id;
  std::string session_token;  ///< empty: none
  SigV4Scope scope;
  Sha256Digest signing_key{};
};

/// Adds date, payload hash, session token and Authorization. `timestamp` is "20260131T120000Z" and of the scope's date.
/// False when the request's URL is malformed.
bool SignHeaders(const SigV4Dialect& dialect, const SigV4Key& key, std::string_view timestamp,
                 std::string_view payload_hash, http::Request& request);

/// The request's URL with the signature in its query; the headers of the request are signed too and must be sent with
/// it. `sign` turns the string to sign into the hexadecimal signature. Empty when the URL is malformed.
std::string PresignUrl(const SigV4Dialect& dialect, const SigV4Key& key, std::string_view timestamp, int64_t seconds,
                       const http::Request& request);

/// The canonical request's address of a presigned URL before its signature: the URL, and the text that must be signed.
struct UnsignedUrl {
  std::string url;  ///< with all parameters but the signature; empty when the URL is malformed
  std::string string_to_sign;
};
UnsignedUrl PrepareUrl(const SigV4Dialect& dialect, const SigV4Key& key, std::string_view timestamp, int64_t seconds,
                       const http::Request& request);

/// The signature of one chunk of an aws-chunked body: over the signature before it (the first: the request's own) and
/// the SHA-256 of the chunk's data.
std::string ChunkSignature(const SigV4Key& key, std::string_view timestamp, std::string_view previous_signature,
                           const Sha256Digest& data);
/// The signature of the trailers after the last chunk; `trailers` is "name:value\n" for each, names in lower case.
std::string TrailerSignature(const SigV4Key& key, std::string_view timestamp, std::string_view previous_signature,
                             std::string_view trailers);

/// "20260131T120000Z" of seconds since 1970.
std::string SigV4Timestamp(double seconds);
/// Nothing for text of another form.
std::optional<double> ParseSigV4Timestamp(std::string_view text);

}  // namespace assay::storage
