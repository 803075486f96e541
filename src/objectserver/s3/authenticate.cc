#include "objectserver/s3/authenticate.h"

#include <string>
#include <utility>

#include "objectserver/tokens.h"

namespace assay::objectserver::s3 {
namespace {

using storage::ChecksumKind;

constexpr std::string_view kBearer = "Bearer ";

constexpr ChecksumKind kHeaderKinds[] = {ChecksumKind::kCrc32c, ChecksumKind::kCrc64Nvme, ChecksumKind::kCrc32,
                                         ChecksumKind::kSha1, ChecksumKind::kSha256};

}  // namespace

std::optional<Error> Authenticate(const Context& context, Request& request) {
  const Credentials& credentials = *context.credentials;
  if (credentials.anonymous()) {
    return std::nullopt;
  }
  const std::string authorization = request.HeaderText("Authorization");
  if (authorization.starts_with(kBearer)) {
    return context.tokens->Knows(std::string_view(authorization).substr(kBearer.size()))
               ? std::nullopt
               : std::optional(Error{"AccessDenied", "The bearer token is not known.", 401});
  }
  const storage::ReceivedRequest received = {request.head.method, request.head.path(), request.head.query(),
                                             &request.head.headers};
  storage::SigV4VerifyOptions options;
  options.now = UnixSeconds();
  options.region = context.options->region;
  storage::SigV4Verdict verdict =
      storage::VerifySigV4(received, [&](std::string_view key) { return credentials.Find(key); }, options);
  switch (verdict.kind) {
    case storage::SigV4Verdict::Kind::kAccepted:
      request.identity = std::move(verdict.identity);
      return std::nullopt;
    case storage::SigV4Verdict::Kind::kAnonymous:
      return Error{"AccessDenied"};
    case storage::SigV4Verdict::Kind::kRefused:
      break;
  }
  Error error{std::string(verdict.code), std::move(verdict.message), verdict.http_status};
  if (error.code == "AuthorizationHeaderMalformed") {
    error.details = {{"Region", context.options->region}};
  }
  if (!verdict.string_to_sign.empty()) {
    error.details = {{"StringToSign", std::move(verdict.string_to_sign)},
                     {"CanonicalRequest", std::move(verdict.canonical_request)}};
  }
  return error;
}

std::optional<Error> CheckDocument(const Request& request, std::string_view body) {
  const auto bytes = std::as_bytes(std::span(body));
  const std::string payload = request.HeaderText("x-amz-content-sha256");
  if (payload.size() == 64 && storage::ChecksumOf(ChecksumKind::kSha256, bytes).Hex() != payload) {
    return Error{"XAmzContentSHA256Mismatch"};
  }
  if (const auto md5 = request.Header("Content-MD5");
      md5 && storage::ChecksumOf(ChecksumKind::kMd5, bytes).Base64() != *md5) {
    return Error{"BadDigest"};
  }
  if (request.query.Has("uploadId")) {
    return std::nullopt;  // what CompleteMultipartUpload carries is the checksum of the object
  }
  for (const ChecksumKind kind : kHeaderKinds) {
    const auto header = request.Header("x-amz-checksum-" + std::string(storage::NameOf(kind)));
    if (header && storage::ChecksumOf(kind, bytes).Base64() != *header) {
      return Error{"BadDigest"};
    }
  }
  return std::nullopt;
}

}  // namespace assay::objectserver::s3
