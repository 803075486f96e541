// OCI's request signatures: what the signer signs the verifier accepts, nothing else is accepted, and no proof that
// comes off the wire does harm. Lines of an input: method, path, query, Authorization, then headers "name:value".
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

bool Accepts(const http::Request& request, const http::Url& url) {
  return VerifyOciRequest({request.method, url.path, url.query, &request.headers}, Lookup, kNow).kind ==
         OciVerdict::Kind::kAccepted;
}

void CheckRoundTrip(const fuzz::SignedRequest& input) {
  http::Request request = input.ToRequest("h");
  const auto url = http::ParseUrl(request.url);
  if (!url) {
    return;
  }
  const bool with_body = request.method == "POST" || request.method == "PUT";
  const Status status =
      SignOciRequest(Key(), "t/u/f", kNow, {.host = true, .sha256 = with_body ? "aGFzaA==" : ""}, request);
  fuzz::Require(status.ok(), "a URL that parses is signed");
  fuzz::Require(Accepts(request, *url), "what was signed is accepted");
  http::Url elsewhere = *url;
  elsewhere.path += 'x';
  fuzz::Require(!Accepts(request, elsewhere), "the path is covered");
  elsewhere = *url;
  elsewhere.query += 'x';
  fuzz::Require(!Accepts(request, elsewhere), "the query is covered");
  for (const char* name : {"host", "date", with_body ? "x-content-sha256" : "host"}) {
    http::Request changed = request;
    changed.headers.Set(name, std::string(*request.headers.Find(name)) + 'x');
    fuzz::Require(!Accepts(changed, *url), "the headers are covered");
  }
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
