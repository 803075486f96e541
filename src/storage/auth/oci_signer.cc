#include "storage/auth/oci_signer.h"

#include "storage/auth/oci_signature.h"
#include "storage/auth/time_format.h"

namespace assay::storage {

Status OciSigner::Sign(http::Request& request, std::string_view payload_hash) {
  const auto credentials = cache_.Current();
  if (credentials == nullptr) {
    return Status::Internal("a request was to be signed before credentials were fetched");
  }
  return SignOciRequest(*credentials->key, credentials->key_id, now_() + clock_offset_seconds_,
                        {.host = true, .sha256 = payload_hash}, request);
}

Result<std::string> OciSigner::Presign(const http::Request&, int64_t) {
  return Status::Unsupported("OCI signs no URLs (ask the service for a pre-authenticated request)");
}

void OciSigner::CorrectClock(std::string_view date) {
  if (const std::optional<double> server_time = ParseHttpDate(date)) {
    clock_offset_seconds_ = *server_time - now_();
  }
}

std::string OciSigner::Describe() const {
  const auto credentials = cache_.Current();
  return credentials != nullptr ? credentials->source : "no credentials yet";
}

}  // namespace assay::storage
