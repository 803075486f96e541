#include "storage/gcs/gcs_signer.h"

#include "storage/auth/anonymous_signer.h"
#include "storage/auth/credential_address.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

Status NotPrepared() {
  return Status::Internal("a request was to be signed before credentials were fetched");
}

// HMAC keys of Google's XML dialect, which it takes in AWS's form as in its own.
Result<AwsCredentials> LoadGcsHmac(const Environment& environment) {
  const auto id = environment.variable("GCS_HMAC_ACCESS_KEY_ID");
  const auto secret = environment.variable("GCS_HMAC_SECRET_ACCESS_KEY");
  if (!id || !secret) {
    return Status::InvalidArgument(
        "an HMAC key needs GCS_HMAC_ACCESS_KEY_ID and GCS_HMAC_SECRET_ACCESS_KEY (set both or neither)");
  }
  return AwsCredentials{.access_key_id = *id,
                        .secret_access_key = *secret,
                        .session_token = {},
                        .expires = 0,
                        .source = "HMAC key of GCS_HMAC_ACCESS_KEY_ID"};
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

Result<std::unique_ptr<Signer>> MakeGcsSigner(const StoreOptions& options, const Environment& environment) {
  if (options.anonymous || environment.variable("STORAGE_EMULATOR_HOST")) {
    return std::unique_ptr<Signer>(new AnonymousSigner);
  }
  if (environment.variable("GCS_HMAC_ACCESS_KEY_ID")) {
    SigV4SignerOptions signing;
    signing.dialect = &kGoog4Hmac;
    signing.region = "auto";
    signing.service = "storage";
    const auto load = [environment] { return LoadGcsHmac(environment); };
    return std::unique_ptr<Signer>(new SigV4Signer(signing, load, environment.now));
  }
  const auto load = [environment] { return LoadGcsCredentials(environment); };
  return std::unique_ptr<Signer>(new GcsSigner(load, environment.now));
}

}  // namespace assay::storage
