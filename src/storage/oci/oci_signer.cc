#include "storage/oci/oci_signer.h"

#include "storage/auth/anonymous_signer.h"
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

Result<std::unique_ptr<Signer>> MakeOciSigner(const StoreOptions& options, const Environment& environment) {
  if (options.anonymous) {
    return std::unique_ptr<Signer>(new AnonymousSigner);
  }
  const auto load = [options, environment] { return LoadOciCredentials(options, environment); };
  return std::unique_ptr<Signer>(new OciSigner(load, environment.now));
}

Result<OciSettings> ResolveOciSettings(const StoreOptions& options, const Environment& environment) {
  ASSAY_ASSIGN_OR_RETURN(const OciProfile profile, LoadOciProfile(options, environment));
  const auto value = [&profile](const char* key) {
    const auto found = profile.values.find(key);
    return found != profile.values.end() ? found->second : std::string();
  };
  OciSettings settings{options.region, value("tenancy")};
  for (const char* name : {"OCI_CLI_REGION", "OCI_REGION", "OCI_RESOURCE_PRINCIPAL_REGION"}) {
    if (settings.region.empty()) {
      settings.region = environment.variable(name).value_or("");
    }
  }
  if (settings.region.empty()) {
    settings.region = value("region");
  }
  return settings;
}

}  // namespace assay::storage
