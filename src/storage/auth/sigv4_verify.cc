#include "storage/auth/sigv4_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "storage/auth/time_format.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

constexpr std::array<const SigV4Dialect*, 2> kDialects = {&kAws4Hmac, &kGoog4Hmac};
constexpr std::string_view kMalformedQuery =
    "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, "
    "X-Amz-Date, "
    "X-Amz-SignedHeaders, and X-Amz-Expires parameters.";

SigV4Verdict Refuse(std::string_view code, int http_status, std::string message) {
  SigV4Verdict verdict;
  verdict.kind = SigV4Verdict::Kind::kRefused;
  verdict.code = code;
  verdict.http_status = http_status;
  verdict.message = std::move(message);
  return verdict;
}

// What a request claims, before it is checked.
struct Claim {
  const SigV4Dialect* dialect = nullptr;
  bool presigned = false;
  std::string access_key_id;
  SigV4Scope scope;
  std::string scope_text;  // as signed
  std::vector<std::string> signed_headers;
  std::string signature;
  std::string timestamp;
  std::string session_token;
  int64_t expires_seconds = 0;
};

// "AKID/20260131/us-east-1/s3/aws4_request"; key ids may hold slashes.
bool ReadCredential(std::string_view credential, Claim& claim) {
  std::vector<std::string> parts = Split(credential, '/');
  if (parts.size() < 5 || parts.back() != claim.dialect->terminator) {
    return false;
  }
  const size_t n = parts.size();
  claim.scope = {parts[n - 4], parts[n - 3], parts[n - 2]};
  claim.scope_text = claim.scope.Text(*claim.dialect);
  claim.access_key_id = credential.substr(0, credential.size() - claim.scope_text.size() - 1);
  return !claim.access_key_id.empty() && claim.scope.date.size() == 8;
}

void ReadSignedHeaders(std::string_view names, Claim& claim) {
  for (const std::string& name : Split(names, ';')) {
    claim.signed_headers.push_back(Lower(name));
  }
}

// The decoded value of a parameter, its name compared without case as Google's are written both ways.
std::optional<std::string> FindParameter(std::string_view query, std::string_view name) {
  for (const std::string& pair : Split(query, '&')) {
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::optional<std::string> key = http::PercentDecode(std::string_view(pair).substr(0, equals));
    if (key && Lower(*key) == Lower(name)) {
      return http::PercentDecode(std::string_view(pair).substr(std::min(equals + 1, pair.size())));
    }
  }
  return std::nullopt;
}

std::optional<SigV4Verdict> ReadAuthorization(std::string_view authorization, const http::Headers& headers,
                                              Claim& claim) {
  const std::string_view scheme = authorization.substr(0, authorization.find(' '));
  const auto dialect = std::find_if(kDialects.begin(), kDialects.end(),
                                    [scheme](const SigV4Dialect* known) { return known->algorithm == scheme; });
  if (dialect == kDialects.end()) {
    if (scheme == "AWS") {
      return Refuse("InvalidRequest", 400,
                    "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.");
    }
    return Refuse("InvalidArgument", 400, "Unsupported Authorization Type");
  }
  claim.dialect = *dialect;
  bool credential_read = false;
  for (const std::string& part : Split(authorization.substr(scheme.size()), ',')) {
    const std::string_view field = Trim(part);
    if (field.starts_with("Credential=")) {
      credential_read = ReadCredential(field.substr(11), claim);
    } else if (field.starts_with("SignedHeaders=")) {
      ReadSignedHeaders(field.substr(14), claim);
    } else if (field.starts_with("Signature=")) {
      claim.signature = field.substr(10);
    }
  }
  if (!credential_read || claim.signed_headers.empty() || claim.signature.empty()) {
    return Refuse("AuthorizationHeaderMalformed", 400,
                  "The authorization header is malformed; it needs Credential=<key>/<date>/<region>/<service>/" +
                      std::string(claim.dialect->terminator) + ", SignedHeaders and Signature.");
  }
  const std::string prefix(claim.dialect->header_prefix);
  claim.session_token = headers.Find(prefix + "security-token").value_or("");
  if (const auto date = headers.Find(prefix + "date")) {
    claim.timestamp = *date;
  } else if (const auto plain_date = headers.Find("date")) {
    const std::optional<double> seconds = ParseHttpDate(*plain_date);
    claim.timestamp = seconds ? SigV4Timestamp(*seconds) : std::string(*plain_date);
  }
  return std::nullopt;
}

std::optional<SigV4Verdict> ReadPresigned(std::string_view query, const SigV4Dialect& dialect, Claim& claim) {
  const auto parameter = [&](std::string_view name) {
    return FindParameter(query, std::string(dialect.query_prefix) + std::string(name));
  };
  claim.dialect = &dialect;
  claim.presigned = true;
  const auto credential = parameter("Credential");
  const auto date = parameter("Date");
  const auto expires = parameter("Expires");
  const auto names = parameter("SignedHeaders");
  const auto signature = parameter("Signature");
  const std::string algorithm = parameter("Algorithm").value_or("");
  if (&dialect == &kGoog4Hmac && algorithm == kGoog4Rsa.algorithm) {
    claim.dialect = &kGoog4Rsa;
  }
  if (algorithm != claim.dialect->algorithm || !credential || !date || !expires || !names || !signature) {
    return Refuse("AuthorizationQueryParametersError", 400, std::string(kMalformedQuery));
  }
  if (!ReadCredential(*credential, claim)) {
    return Refuse("AuthorizationQueryParametersError", 400,
                  "Error parsing the X-Amz-Credential parameter; the Credential is mal-formed; expecting "
                  "\"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/" +
                      std::string(dialect.terminator) + "\".");
  }
  const char* const end = expires->data() + expires->size();
  const auto [after, error] = std::from_chars(expires->data(), end, claim.expires_seconds);
  if (error != std::errc() || after != end || claim.expires_seconds < 0) {
    return Refuse("AuthorizationQueryParametersError", 400, "X-Amz-Expires should be a number");
  }
  if (claim.expires_seconds > kLongestPresignSeconds) {
    return Refuse("AuthorizationQueryParametersError", 400,
                  "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less "
                  "than 604800 seconds");
  }
  ReadSignedHeaders(*names, claim);
  claim.signature = *signature;
  claim.timestamp = *date;
  claim.session_token = parameter("Security-Token").value_or("");
  return std::nullopt;
}

// S3 wants Host and its own headers signed: what is not could have been put in on the way. So must those of the other
// dialect be, as either name of a header counts.
std::optional<SigV4Verdict> CheckSignedHeaders(const ReceivedRequest& request, const Claim& claim) {
  const auto is_signed = [&](const std::string& name) {
    return std::find(claim.signed_headers.begin(), claim.signed_headers.end(), name) != claim.signed_headers.end();
  };
  for (const http::Header& header : request.headers->all()) {
    const std::string name = Lower(header.name);
    const bool must_be_signed = name == "host" || std::ranges::any_of(kDialects, [&](const SigV4Dialect* dialect) {
                                  return name.starts_with(dialect->header_prefix);
                                });
    if (must_be_signed && !is_signed(name)) {
      return Refuse("AccessDenied", 403, "There were headers present in the request which were not signed: " + name);
    }
  }
  return std::nullopt;
}

std::optional<SigV4Verdict> CheckTime(const Claim& claim, const SigV4VerifyOptions& options) {
  const std::optional<double> signed_at = ParseSigV4Timestamp(claim.timestamp);
  if (!signed_at) {
    return Refuse("AccessDenied", 403, "AWS authentication requires a valid Date or x-amz-date header");
  }
  if (!claim.timestamp.starts_with(claim.scope.date)) {
    const auto code = claim.presigned ? "AuthorizationQueryParametersError" : "AuthorizationHeaderMalformed";
    return Refuse(
        code, 400,
        fmt::format("Invalid credential date \"{}\". This date is not the same as X-Amz-Date.", claim.scope.date));
  }
  if (!claim.presigned) {
    if (std::abs(options.now - *signed_at) > options.max_skew_seconds) {
      return Refuse("RequestTimeTooSkewed", 403,
                    "The difference between the request time and the current time is too large.");
    }
    return std::nullopt;
  }
  if (options.now < *signed_at - options.max_skew_seconds) {
    return Refuse("AccessDenied", 403, "Request is not valid yet");
  }
  if (options.now > *signed_at + static_cast<double>(claim.expires_seconds)) {
    return Refuse("AccessDenied", 403, "Request has expired");
  }
  return std::nullopt;
}

std::optional<SigV4Verdict> CheckRegion(const Claim& claim, const SigV4VerifyOptions& options) {
  const bool any = options.region.empty() || (claim.dialect != &kAws4Hmac && claim.scope.region == "auto");
  if (any || claim.scope.region == options.region) {
    return std::nullopt;
  }
  if (claim.presigned) {
    return Refuse("AuthorizationQueryParametersError", 400,
                  fmt::format("Error parsing the X-Amz-Credential parameter; the region '{}' is wrong; expecting '{}'",
                              claim.scope.region, options.region));
  }
  return Refuse("AuthorizationHeaderMalformed", 400,
                fmt::format("The authorization header is malformed; the region '{}' is wrong; expecting '{}'",
                            claim.scope.region, options.region));
}

std::optional<SigV4Verdict> CheckSession(const Claim& claim, const SigV4Secret& secret, double now) {
  if (secret.expires > 0 && now >= secret.expires) {
    return Refuse("ExpiredToken", 400, "The provided token has expired.");
  }
  if (!EqualInConstantTime(claim.session_token, secret.session_token)) {
    return Refuse("InvalidToken", 400, "The provided token is malformed or otherwise invalid.");
  }
  return std::nullopt;
}

bool IsSha256Hex(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The payload hash that the canonical request holds.
std::optional<SigV4Verdict> ReadPayloadHash(const ReceivedRequest& request, const Claim& claim, std::string& hash) {
  const auto header = request.headers->Find(std::string(claim.dialect->header_prefix) + "content-sha256");
  if (claim.presigned) {
    hash = header.value_or(kUnsignedPayload);
    return std::nullopt;
  }
  if (!header) {
    return Refuse(
        "InvalidRequest", 400,
        fmt::format("Missing required header for this request: {}content-sha256", claim.dialect->header_prefix));
  }
  const bool known = *header == kUnsignedPayload || *header == kStreamingUnsignedTrailer ||
                     *header == kStreamingSigned || *header == kStreamingSignedTrailer || IsSha256Hex(*header);
  if (!known) {
    return Refuse("InvalidArgument", 400,
                  "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
                  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 "
                  "value.");
  }
  hash = *header;
  return std::nullopt;
}

std::vector<CanonicalHeader> SignedValues(const ReceivedRequest& request, const Claim& claim) {
  std::vector<CanonicalHeader> values;
  for (const std::string& name : claim.signed_headers) {
    const size_t before = values.size();
    for (const http::Header& header : request.headers->all()) {
      if (Lower(header.name) == name) {
        values.push_back({name, header.value});
      }
    }
    if (values.size() == before) {
      values.push_back({name, ""});
    }
  }
  return values;
}

// Whose signature it must be: of a secret, or of a service account's key.
struct Signatory {
  SigV4Secret secret;
  std::optional<RsaKey> rsa_key;
};

bool IsRightSignature(const Claim& claim, const Signatory& signatory, const SigV4Key& key,
                      std::string_view string_to_sign) {
  if (signatory.rsa_key) {
    return signatory.rsa_key->Verify(string_to_sign, HexDecode(claim.signature).value_or(""));
  }
  return EqualInConstantTime(Hex(HmacSha256(AsText(key.signing_key), string_to_sign)), claim.signature);
}

SigV4Verdict Compare(const ReceivedRequest& request, const Claim& claim, const Signatory& signatory,
                     std::string payload_hash) {
  SigV4Verdict verdict;
  const std::string left_out = claim.presigned ? std::string(claim.dialect->query_prefix) + "Signature" : "";
  CanonicalParts parts{.method = request.method,
                       .path = request.path,
                       .query = request.query,
                       .query_left_out = left_out,
                       .headers = SignedValues(request, claim),
                       .payload_hash = payload_hash};
  const std::string canonical = CanonicalRequest(parts);
  const std::string string_to_sign = StringToSign(*claim.dialect, claim.timestamp, claim.scope_text, canonical);
  SigV4Key key{claim.access_key_id, claim.session_token, claim.scope,
               SigningKey(*claim.dialect, signatory.secret.secret_access_key, claim.scope)};
  if (!IsRightSignature(claim, signatory, key, string_to_sign)) {
    verdict = Refuse("SignatureDoesNotMatch", 403,
                     "The request signature we calculated does not match the signature you provided. Check your key "
                     "and signing method.");
    verdict.canonical_request = canonical;
    verdict.string_to_sign = string_to_sign;
    return verdict;
  }
  verdict.kind = SigV4Verdict::Kind::kAccepted;
  verdict.identity = {std::move(key),  claim.dialect,           claim.timestamp,
                      claim.signature, std::move(payload_hash), claim.presigned};
  return verdict;
}

std::optional<Signatory> FindSignatory(const Claim& claim, const SecretLookup& lookup,
                                       const SigV4VerifyOptions& options) {
  if (claim.dialect == &kGoog4Rsa) {
    std::optional<RsaKey> key =
        options.service_account_key ? options.service_account_key(claim.access_key_id) : std::nullopt;
    return key ? std::optional(Signatory{{}, std::move(key)}) : std::nullopt;
  }
  std::optional<SigV4Secret> secret = lookup(claim.access_key_id);
  return secret ? std::optional(Signatory{std::move(*secret), std::nullopt}) : std::nullopt;
}

// Nothing when the request carries no signature of either kind.
std::optional<SigV4Verdict> ReadClaim(const ReceivedRequest& request, Claim& claim) {
  if (const auto authorization = request.headers->Find("authorization")) {
    return ReadAuthorization(*authorization, *request.headers, claim);
  }
  for (const SigV4Dialect* dialect : kDialects) {
    for (const std::string_view name : {"Algorithm", "Signature", "Credential"}) {
      if (FindParameter(request.query, std::string(dialect->query_prefix) + std::string(name))) {
        return ReadPresigned(request.query, *dialect, claim);
      }
    }
  }
  return SigV4Verdict{};
}

}  // namespace

SigV4Verdict VerifySigV4(const ReceivedRequest& request, const SecretLookup& lookup,
                         const SigV4VerifyOptions& options) {
  Claim claim;
  if (auto refusal = ReadClaim(request, claim)) {
    return *refusal;
  }
  std::string payload_hash;
  if (auto refusal = ReadPayloadHash(request, claim, payload_hash)) {
    return *refusal;
  }
  if (auto refusal = CheckTime(claim, options)) {
    return *refusal;
  }
  const std::optional<Signatory> signatory = FindSignatory(claim, lookup, options);
  if (!signatory) {
    return Refuse("InvalidAccessKeyId", 403, "The AWS Access Key Id you provided does not exist in our records.");
  }
  if (auto refusal = CheckRegion(claim, options)) {
    return *refusal;
  }
  if (auto refusal = CheckSession(claim, signatory->secret, options.now)) {
    return *refusal;
  }
  if (auto refusal = CheckSignedHeaders(request, claim)) {
    return *refusal;
  }
  return Compare(request, claim, *signatory, std::move(payload_hash));
}

ChunkVerifier::ChunkVerifier(const SigV4Identity& identity)
    : key_(identity.key), timestamp_(identity.timestamp), previous_signature_(identity.signature) {}

bool ChunkVerifier::FinishChunk(std::string_view signature) {
  const std::string expected = ChunkSignature(key_, timestamp_, previous_signature_, hash_.Finish());
  previous_signature_ = expected;
  return EqualInConstantTime(expected, signature);
}

bool ChunkVerifier::CheckTrailer(std::string_view trailers, std::string_view signature) {
  return EqualInConstantTime(TrailerSignature(key_, timestamp_, previous_signature_, trailers), signature);
}

}  // namespace assay::storage
