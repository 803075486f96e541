// OCI instance principals: the instance proves itself with its certificate and gets a token for a key of the session.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "storage/auth/jwt.h"
#include "storage/auth/oci_signature.h"
#include "storage/auth/sha256.h"
#include "storage/auth/token_request.h"
#include "storage/integrity/checksum.h"
#include "storage/oci/oci_credentials.h"

namespace assay::storage {
namespace {

constexpr char kMetadata[] = "http://169.254.169.254/opc/v2";
constexpr int kSessionKeyBits = 2048;

Result<std::string> AskInstance(const Environment& environment, const std::string& path) {
  http::Request request;
  request.url = environment.variable("OCI_METADATA_BASE_URL").value_or(kMetadata) + path;
  request.headers.Set("Authorization", "Bearer Oracle");
  return FetchText(environment, request, "the instance's identity");
}

// PEM without its frame and line ends, as the auth service wants it.
std::string Bare(std::string_view pem) {
  std::string bare;
  for (const std::string& line : Split(pem, '\n')) {
    if (!line.starts_with("-----")) {
      bare += Trim(line);
    }
  }
  return bare;
}

struct InstanceIdentity {
  std::string certificate;
  std::string key;
  std::string intermediate;
  std::string region;
};

Result<InstanceIdentity> FetchIdentity(const Environment& environment, std::string region) {
  InstanceIdentity identity;
  identity.region = std::move(region);
  ASSAY_ASSIGN_OR_RETURN(identity.certificate, AskInstance(environment, "/identity/cert.pem"));
  ASSAY_ASSIGN_OR_RETURN(identity.key, AskInstance(environment, "/identity/key.pem"));
  ASSAY_ASSIGN_OR_RETURN(identity.intermediate, AskInstance(environment, "/identity/intermediate.pem"));
  return identity;
}

std::string FederationUrl(const Environment& environment, const std::string& region) {
  const auto endpoint = environment.variable("OCI_SDK_AUTH_CLIENT_REGION_URL");
  return endpoint.value_or(fmt::format("https://auth.{}.oraclecloud.com", region)) + "/v1/x509";
}

Result<OciCredentials> Federate(const Environment& environment, const InstanceIdentity& identity) {
  constexpr std::string_view kWhat = "a token of the instance principal";
  ASSAY_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(identity.certificate, "the instance"));
  if (facts.oci_tenancy.empty()) {
    return Status::PermissionDenied("the instance's certificate names no tenancy");
  }
  ASSAY_ASSIGN_OR_RETURN(const RsaKey leaf_key, RsaKey::FromPrivatePem(identity.key, "", "the instance"));
  OciCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.key, RsaKey::Generate(kSessionKeyBits));
  const std::string body = DumpJson({{"certificate", Bare(identity.certificate)},
                                     {"publicKey", Bare(credentials.key->PublicPem())},
                                     {"intermediateCertificates", {Bare(identity.intermediate)}}});
  http::Request request;
  request.method = "POST";
  request.url = FederationUrl(environment, identity.region);
  request.body.push_back(std::as_bytes(std::span(body)));
  const std::string hash = Base64Encode(AsText(Sha256(body)));
  const std::string key_id = facts.oci_tenancy + "/fed-x509/" + facts.sha1_fingerprint;
  ASSAY_RETURN_IF_ERROR(SignOciRequest(leaf_key, key_id, environment.now(), {.host = false, .sha256 = hash}, request));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer, FetchJson(environment, request, kWhat));
  ASSAY_ASSIGN_OR_RETURN(const std::string token, RequiredText(answer, "token", kWhat));
  credentials.key_id = "ST$" + token;
  credentials.expires = JwtExpiry(token);
  credentials.source = "instance principal";
  return credentials;
}

}  // namespace

OciAnswer FromInstancePrincipal(const Environment& environment) {
  const Result<std::string> region = AskInstance(environment, "/instance/region");
  if (!region.ok()) {
    return NotConfigured{region.status().message()};
  }
  const Result<InstanceIdentity> identity = FetchIdentity(environment, std::string(Trim(*region)));
  if (!identity.ok()) {
    return identity.status();
  }
  return ToAnswer(Federate(environment, *identity));
}

}  // namespace assay::storage
