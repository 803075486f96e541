#include "storage/auth/gcs_signer.h"

#include "storage/auth/credential_address.h"
#include "storage/auth/sigv4.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

Status NotPrepared() {
  return Status::Internal("a request was to be signed before credentials were fetched");
}

}  // namespace

Status GcsSigner::Sign(http::Request& request, std::string_view) {
  if (const auto url = http::ParseUrl(request.url); !url || !CheckCredentialAddress(*url).ok()) {
    return Status::InvalidArgument(
        "a token is sent by https only, or by http to this machine (give an https endpoint, or go anonymous)");
  }
  const auto credentials = cache_.Current();
  if (credentials == nullptr) {
    return NotPrepared();
  }
  request.headers.Set("Authorization", "Bearer " + credentials->access_token);
  if (!credentials->quota_project.empty() && !request.headers.Has("x-goog-user-project")) {
    request.headers.Set("x-goog-user-project", credentials->quota_project);
  }
  return Status::Ok();
}

Result<std::string> GcsSigner::Presign(const http::Request& request, int64_t seconds) {
  if (seconds <= 0 || seconds > kLongestPresignSeconds) {
    return Status::InvalidArgument("a signed URL lives for 1 second to 7 days (604800 seconds)");
  }
  const auto credentials = cache_.Current();
  if (credentials == nullptr) {
    return NotPrepared();
  }
  if (!credentials->service_account) {
    return Status::Unsupported("cannot sign a URL with " + credentials->source +
                               " (a service account's key file or an HMAC key can)");
  }
  const std::string timestamp = SigV4Timestamp(now_());
  const SigV4Key key{credentials->service_account->email, "", {timestamp.substr(0, 8), "auto", "storage"}, {}};
  const UnsignedUrl prepared = PrepareUrl(kGoog4Rsa, key, timestamp, seconds, request);
  if (prepared.url.empty()) {
    return Status::InvalidArgument("cannot sign a URL: the address is no http or https URL");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string signature, credentials->service_account->key.Sign(prepared.string_to_sign));
  return prepared.url + "&X-Goog-Signature=" + HexEncode(signature);
}

std::string GcsSigner::Describe() const {
  const auto credentials = cache_.Current();
  return credentials != nullptr ? credentials->source : "no credentials yet";
}

}  // namespace assay::storage
