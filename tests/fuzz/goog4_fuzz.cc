// Google's signatures of version 4, in headers and in URLs, by HMAC and by a service account's key: what is signed is
// accepted, what was changed since is not. Lines of an input: method, path, query, Authorization, then headers.
#include <optional>
#include <string>

#include "fuzz_input.h"
#include "signed_request.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_verify.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

constexpr double kNow = 1'700'000'000;

const RsaKey& Account() {
  static const RsaKey key = RsaKey::Generate(2048).value();
  return key;
}

SigV4Verdict Verify(const ReceivedRequest& request) {
  SigV4VerifyOptions options;
  options.region = "auto";
  options.now = kNow;
  options.service_account_key = [](std::string_view email) {
    return email == "a@b" ? std::optional(Account()) : std::nullopt;
  };
  const auto lookup = [](std::string_view key) {
    return key == "GOOG1" ? std::optional(SigV4Secret{"secret", "", 0}) : std::nullopt;
  };
  return VerifySigV4(request, lookup, options);
}

bool Accepts(const http::Request& request) {
  const auto url = http::ParseUrl(request.url);
  return url && Verify({request.method, url->path, url->query, &request.headers}).kind == SigV4Verdict::Kind::kAccepted;
}

SigV4Key MakeKey(const SigV4Dialect& dialect, std::string id) {
  SigV4Key key{std::move(id), "", {SigV4Timestamp(kNow).substr(0, 8), "auto", "storage"}, {}};
  key.signing_key = SigningKey(dialect, "secret", key.scope);
  return key;
}

void CheckRoundTrips(const http::Request& plain) {
  const std::string timestamp = SigV4Timestamp(kNow);
  http::Request with_headers = plain;
  fuzz::Require(SignHeaders(kGoog4Hmac, MakeKey(kGoog4Hmac, "GOOG1"), timestamp, kUnsignedPayload, with_headers),
                "a URL that parses is signed");
  fuzz::CheckCovered(with_headers, Accepts, "signed headers are accepted");

  http::Request with_hmac = plain;
  with_hmac.url = PresignUrl(kGoog4Hmac, MakeKey(kGoog4Hmac, "GOOG1"), timestamp, 60, plain);
  fuzz::CheckCovered(with_hmac, Accepts, "a URL signed by HMAC is accepted");

  const UnsignedUrl prepared = PrepareUrl(kGoog4Rsa, MakeKey(kGoog4Rsa, "a@b"), timestamp, 60, plain);
  http::Request with_rsa = plain;
  with_rsa.url = prepared.url + "&X-Goog-Signature=" + HexEncode(Account().Sign(prepared.string_to_sign).value());
  fuzz::CheckCovered(with_rsa, Accepts, "a URL signed by a service account is accepted");
}

}  // namespace
}  // namespace assay::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::storage;  // NOLINT: the whole target is about it
  const assay::fuzz::SignedRequest input(data, size);
  const assay::http::Request plain = input.ToRequest("h");
  if (assay::http::ParseUrl(plain.url) && !assay::fuzz::SpeaksOfSignatures(plain)) {
    CheckRoundTrips(plain);
  }
  assay::fuzz::Require(Verify(input.Received()).kind != SigV4Verdict::Kind::kAccepted, "nobody guesses a signature");
  return 0;
}
