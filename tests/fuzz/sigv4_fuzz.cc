// Signature Version 4, in headers and in URLs, with a session's token and without: what is canonical stays canonical,
// what the signer signs the verifier accepts, nothing else is accepted, and no proof that comes off the wire does harm.
// Lines of an input: path, query, Authorization, then headers "name:value".
#include <optional>
#include <string>
#include <utility>

#include "fuzz_input.h"
#include "signed_request.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::storage {
namespace {

constexpr double kNow = 1'700'000'000;
constexpr const char* kToken = "to/ken==";

/// "AKID" signs with its secret alone, "ASIA" is a session's and must bring its token.
std::optional<SigV4Secret> Lookup(std::string_view key) {
  return SigV4Secret{"secret", key == "ASIA" ? kToken : "", 0};
}

SigV4VerifyOptions AtNow(std::string region) {
  SigV4VerifyOptions options;
  options.region = std::move(region);
  options.now = kNow;
  return options;
}

bool Accepts(const http::Request& request) {
  const auto url = http::ParseUrl(request.url);
  return url && VerifySigV4({request.method, url->path, url->query, &request.headers}, Lookup, AtNow("r")).kind ==
                    SigV4Verdict::Kind::kAccepted;
}

SigV4Key MakeKey(std::string id, std::string token) {
  SigV4Key key{std::move(id), std::move(token), {SigV4Timestamp(kNow).substr(0, 8), "r", "s3"}, {}};
  key.signing_key = SigningKey(kAws4Hmac, "secret", key.scope);
  return key;
}

void CheckCanonicalForms(std::string_view path, std::string_view query) {
  std::string once;
  std::string twice;
  AppendCanonicalPath(once, path);
  AppendCanonicalPath(twice, once);
  fuzz::Require(once == twice, "a canonical path is its own canonical form");
  std::string query_once;
  std::string query_twice;
  AppendCanonicalQuery(query_once, query);
  AppendCanonicalQuery(query_twice, query_once);
  fuzz::Require(query_once == query_twice, "a canonical query is its own canonical form");
}

void CheckRoundTrips(const http::Request& plain) {
  const std::string timestamp = SigV4Timestamp(kNow);
  for (const SigV4Key& key : {MakeKey("AKID", ""), MakeKey("ASIA", kToken)}) {
    http::Request with_headers = plain;
    fuzz::Require(SignHeaders(kAws4Hmac, key, timestamp, kUnsignedPayload, with_headers),
                  "a URL that parses is signed");
    fuzz::CheckCovered(with_headers, Accepts, "signed headers are accepted");
    http::Request presigned = plain;
    presigned.url = PresignUrl(kAws4Hmac, key, timestamp, 60, plain);
    fuzz::CheckCovered(presigned, Accepts, "a signed URL is accepted");
  }
}

void CheckSessions(const http::Request& plain) {
  const std::string timestamp = SigV4Timestamp(kNow);
  for (const SigV4Key& key : {MakeKey("ASIA", ""), MakeKey("ASIA", "another"), MakeKey("AKID", kToken)}) {
    http::Request with_headers = plain;
    fuzz::Require(SignHeaders(kAws4Hmac, key, timestamp, kUnsignedPayload, with_headers),
                  "a URL that parses is signed");
    fuzz::Require(!Accepts(with_headers), "a session needs its token, and no other key has one");
    http::Request presigned = plain;
    presigned.url = PresignUrl(kAws4Hmac, key, timestamp, 60, plain);
    fuzz::Require(!Accepts(presigned), "so does a session's signed URL");
  }
}

}  // namespace
}  // namespace assay::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::storage;  // NOLINT: the whole target is about it
  assay::fuzz::Input input(data, size);
  const std::string_view path = input.Line();
  const std::string_view query = input.Line();
  const std::string_view authorization = input.Line();
  assay::http::Headers headers = assay::fuzz::ReadHeaders(input);
  CheckCanonicalForms(path, query);
  assay::http::Request plain;
  plain.url = "http://h/" + std::string(path) + (query.empty() ? "" : "?") + std::string(query);
  plain.headers = headers;
  plain.headers.Set("Host", "h");
  if (assay::http::ParseUrl(plain.url) && !assay::fuzz::SpeaksOfSignatures(plain)) {
    CheckRoundTrips(plain);
    CheckSessions(plain);
  }
  if (!authorization.empty()) {
    headers.Set("Authorization", authorization);
  }
  const ReceivedRequest request{"GET", path, query, &headers};
  assay::fuzz::Require(VerifySigV4(request, Lookup, AtNow("")).kind != SigV4Verdict::Kind::kAccepted,
                       "nobody guesses a signature");
  return 0;
}
