// OCI's request signatures: what the signer signs the verifier accepts, nothing else is accepted, and no proof that
// comes off the wire does harm. Lines of an input: method, path, query, Authorization, then headers "name:value".
#include <initializer_list>
#include <optional>
#include <string>

#include "fuzz_input.h"
#include "signed_request.h"
#include "storage/auth/oci_signature.h"

namespace assay::storage {
namespace {

constexpr double kNow = 1'700'000'000;

const RsaKey& Key() {
  static const RsaKey key = RsaKey::Generate(2048).value();
  return key;
}

std::optional<RsaKey> Lookup(std::string_view id) {
  return id == "t/u/f" ? std::optional(Key()) : std::nullopt;
}

OciVerdict Verify(const http::Request& request, const http::Url& url) {
  return VerifyOciRequest({request.method, url.path, url.query, &request.headers}, Lookup, kNow);
}

bool Accepts(const http::Request& request, const http::Url& url) {
  return Verify(request, url).kind == OciVerdict::Kind::kAccepted;
}

void CheckChanges(const http::Request& request, const http::Url& url, std::initializer_list<const char*> headers) {
  http::Url elsewhere = url;
  elsewhere.path += 'x';
  fuzz::Require(!Accepts(request, elsewhere), "the path is covered");
  elsewhere = url;
  elsewhere.query += 'x';
  fuzz::Require(!Accepts(request, elsewhere), "the query is covered");
  for (const char* name : headers) {
    http::Request changed = request;
    changed.headers.Set(name, std::string(*request.headers.Find(name)) + 'x');
    fuzz::Require(!Accepts(changed, url), "the headers are covered");
    changed.headers.Remove(name);
    fuzz::Require(!Accepts(changed, url), "none may be taken out");
  }
}

void CheckRoundTrip(const fuzz::SignedRequest& input) {
  const http::Request plain = input.ToRequest("h");
  const auto url = http::ParseUrl(plain.url);
  if (!url) {
    return;
  }
  http::Request with_body = plain;
  fuzz::Require(SignOciRequest(Key(), "t/u/f", kNow, {.host = true, .sha256 = "aGFzaA=="}, with_body).ok(),
                "a URL that parses is signed");
  fuzz::Require(Accepts(with_body, *url), "what was signed is accepted");
  fuzz::Require(Verify(with_body, *url).body_signed, "its body is signed");
  CheckChanges(with_body, *url, {"host", "date", "content-length", "content-type", "x-content-sha256"});

  http::Request without = plain;
  fuzz::Require(SignOciRequest(Key(), "t/u/f", kNow, {.host = true, .sha256 = ""}, without).ok(),
                "a URL that parses is signed");
  fuzz::Require(Accepts(without, *url), "what was signed is accepted");
  CheckChanges(without, *url, {"host", "date"});
  for (const char* name : {"content-length", "content-type", "x-content-sha256"}) {
    without.headers.Set(name, *with_body.headers.Find(name));
  }
  fuzz::Require(!Verify(without, *url).body_signed, "a body that came without a signature has none");
}

}  // namespace
}  // namespace assay::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::storage;  // NOLINT: the whole target is about it
  const assay::fuzz::SignedRequest input(data, size);
  CheckRoundTrip(input);
  const OciVerdict verdict = VerifyOciRequest(input.Received(), Lookup, kNow);
  assay::fuzz::Require(verdict.kind != OciVerdict::Kind::kAccepted, "nobody guesses a signature");
  return 0;
}
