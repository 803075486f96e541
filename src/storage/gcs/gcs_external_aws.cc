#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/auth/token_request.h"
#include "storage/gcs/gcs_oauth.h"
#include "storage/gcs/gcs_subject_token.h"

namespace assay::storage {
namespace {

constexpr std::string_view kRegionMark = "{region}";
constexpr char kMethod[] = "POST";
constexpr char kSessionSeconds[] = "300";

/// The addresses of one credential_source, and what they answer.
class InstanceMetadata {
 public:
  InstanceMetadata(const Environment& environment, const nlohmann::json& source, const std::string& path)
      : environment_(environment), source_(source), path_(path) {}

  Result<std::string> Region() {
    for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
      if (const auto region = environment_.variable(name)) {
        return *region;
      }
    }
    ASSAY_ASSIGN_OR_RETURN(std::string zone, Ask("region_url", "", "the AWS region"));
    if (!zone.empty()) {
      zone.pop_back();  // "us-east-2b" is a zone of us-east-2
    }
    return zone;
  }

  Result<AwsCredentials> Credentials() {
    const auto id = environment_.variable("AWS_ACCESS_KEY_ID");
    const auto secret = environment_.variable("AWS_SECRET_ACCESS_KEY");
    if (id && secret) {
      return AwsCredentials{.access_key_id = *id,
                            .secret_access_key = *secret,
                            .session_token = environment_.variable("AWS_SESSION_TOKEN").value_or(""),
                            .expires = 0,
                            .source = "environment"};
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string role, Ask("url", "", "the AWS role"));
    ASSAY_ASSIGN_OR_RETURN(const std::string text, Ask("url", "/" + role, "the credentials of the AWS role"));
    const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    AwsCredentials credentials{.access_key_id = OptionalText(answer, "AccessKeyId"),
                               .secret_access_key = OptionalText(answer, "SecretAccessKey"),
                               .session_token = OptionalText(answer, "Token"),
                               .expires = 0,
                               .source = "instance metadata, role " + role};
    if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
      return Status::PermissionDenied("the metadata that " + path_ + " names holds no keys of AWS role " + role);
    }
    return credentials;
  }

 private:
  Result<std::string> Ask(const char* field, const std::string& below, const std::string& what) {
    http::Request request;
    request.url = OptionalText(source_, field);
    if (request.url.empty()) {
      return Status::PermissionDenied("the credential_source of " + path_ + " names no '" + field + "' to ask for " +
                                      what + ", and the environment does not tell it");
    }
    request.url += below;
    ASSAY_ASSIGN_OR_RETURN(const std::string session, Session());
    if (!session.empty()) {
      request.headers.Set("X-aws-ec2-metadata-token", session);
    }
    return FetchText(environment_, request, what);
  }

  /// Empty where the source names no address for one.
  Result<std::string> Session() {
    http::Request request;
    request.method = "PUT";
    request.url = OptionalText(source_, "imdsv2_session_token_url");
    if (request.url.empty() || !session_.empty()) {
      return session_;
    }
    request.headers.Set("X-aws-ec2-metadata-token-ttl-seconds", kSessionSeconds);
    ASSAY_ASSIGN_OR_RETURN(session_, FetchText(environment_, request, "a session of instance metadata"));
    return session_;
  }

  const Environment& environment_;
  const nlohmann::json& source_;
  const std::string& path_;
  std::string session_;
};

/// "sts" of sts.us-east-2.amazonaws.com and of sts-fips.us-east-2.amazonaws.com.
std::string ServiceOf(const std::string& host) {
  std::string service = host.substr(0, host.find('.'));
  constexpr std::string_view kFips = "-fips";
  if (service.ends_with(kFips)) {
    service.resize(service.size() - kFips.size());
  }
  return service;
}

/// The headers that Google is to send, Authorization among them.
std::vector<std::pair<std::string, std::string>> SignedFields(const AwsCredentials& credentials, const http::Url& url,
                                                              const std::string& region, const std::string& audience,
                                                              double now) {
  const std::string timestamp = SigV4Timestamp(now);
  std::vector<std::pair<std::string, std::string>> fields = {
      {"host", url.host}, {"x-amz-date", timestamp}, {"x-goog-cloud-target-resource", audience}};
  if (!credentials.session_token.empty()) {
    fields.emplace_back("x-amz-security-token", credentials.session_token);
  }
  CanonicalParts parts{.method = kMethod,
                       .path = url.path.empty() ? std::string_view("/") : std::string_view(url.path),
                       .query = url.query,
                       .query_left_out = {},
                       .headers = {},
                       .payload_hash = kEmptyPayloadHash};
  for (const auto& [name, value] : fields) {
    parts.headers.push_back({name, value});
  }
  const std::string canonical = CanonicalRequest(parts);
  const SigV4Scope scope{timestamp.substr(0, 8), region, ServiceOf(url.host)};
  const std::string to_sign = StringToSign(kAws4Hmac, timestamp, scope.Text(kAws4Hmac), canonical);
  const Sha256Digest key = SigningKey(kAws4Hmac, credentials.secret_access_key, scope);
  fields.emplace_back("Authorization", std::string(kAws4Hmac.algorithm) + " Credential=" + credentials.access_key_id +
                                           '/' + scope.Text(kAws4Hmac) +
                                           ", SignedHeaders=" + SignedHeaderNames(parts.headers) +
                                           ", Signature=" + Hex(HmacSha256(AsText(key), to_sign)));
  return fields;
}

}  // namespace

Result<std::string> AwsSubjectToken(const Environment& environment, const nlohmann::json& json,
                                    const std::string& path) {
  const nlohmann::json& source = json["credential_source"];
  if (const std::string id = OptionalText(source, "environment_id"); id != "aws1") {
    return Status::Unsupported("the credential_source of " + path + " has the environment_id '" + id +
                               "' (of AWS, 'aws1' is supported)");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string audience, RequiredText(json, "audience", path));
  ASSAY_ASSIGN_OR_RETURN(std::string address, RequiredText(source, "regional_cred_verification_url", path));
  InstanceMetadata metadata(environment, source, path);
  ASSAY_ASSIGN_OR_RETURN(const std::string region, metadata.Region());
  ASSAY_ASSIGN_OR_RETURN(const AwsCredentials credentials, metadata.Credentials());
  if (const size_t mark = address.find(kRegionMark); mark != std::string::npos) {
    address.replace(mark, kRegionMark.size(), region);
  }
  const std::optional<http::Url> url = http::ParseUrl(address);
  if (!url || url->scheme != "https") {
    return Status::InvalidArgument("the regional_cred_verification_url of " + path + " is no https URL");
  }
  nlohmann::json headers = nlohmann::json::array();
  for (const auto& [name, value] : SignedFields(credentials, *url, region, audience, environment.now())) {
    headers.push_back({{"key", name}, {"value", value}});
  }
  return http::PercentEncode(DumpJson({{"url", address}, {"method", kMethod}, {"headers", headers}}), "/");
}

}  // namespace assay::storage
