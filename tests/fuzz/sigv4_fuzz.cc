// Signature Version 4: what is canonical stays canonical, what the signer signs the verifier accepts, and no proof that
// comes off the wire does harm. Lines of an input: path, query, Authorization, then headers "name:value".
#include <string>

#include "fuzz_input.h"
#include "signed_request.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::storage {
namespace {

constexpr double kNow = 1'700'000'000;

std::optional<SigV4Secret> Lookup(std::string_view) {
  return SigV4Secret{"secret", "", 0};
}

SigV4VerifyOptions AtNow(std::string region) {
  SigV4VerifyOptions options;
  options.region = std::move(region);
  options.now = kNow;
  return options;
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

void CheckRoundTrip(std::string_view path, std::string_view query, const http::Headers& headers) {
  http::Request request;
  request.url = "http://h/" + std::string(path) + (query.empty() ? "" : "?") + std::string(query);
  const auto url = http::ParseUrl(request.url);
  if (!url) {
    return;
  }
  request.headers = headers;
  request.headers.Set("Host", "h");
  const std::string timestamp = SigV4Timestamp(kNow);
  SigV4Key key{"AKID", "", {timestamp.substr(0, 8), "r", "s3"}, {}};
  key.signing_key = SigningKey(kAws4Hmac, "secret", key.scope);
  request.headers.Remove("x-amz-security-token");
  fuzz::Require(SignHeaders(kAws4Hmac, key, timestamp, kUnsignedPayload, request), "a URL that parses is signed");
  const SigV4Verdict verdict =
      VerifySigV4({request.method, url->path, url->query, &request.headers}, Lookup, AtNow("r"));
  bool all_signed = true;
  for (const http::Header& header : headers.all()) {
    all_signed = all_signed && IsSignedHeader(header.name);
  }
  fuzz::Require(!all_signed || verdict.kind == SigV4Verdict::Kind::kAccepted, "what was signed is accepted");
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
  CheckRoundTrip(path, query, headers);
  if (!authorization.empty()) {
    headers.Set("Authorization", authorization);
  }
  const ReceivedRequest request{"GET", path, query, &headers};
  (void)VerifySigV4(request, Lookup, AtNow(""));
  return 0;
}
