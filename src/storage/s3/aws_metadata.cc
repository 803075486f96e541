// Credentials that the machine hands out: the container's endpoint (ECS, EKS), EC2 instance metadata (IMDSv2), and a
// program of the user's.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "storage/auth/command_words.h"
#include "storage/auth/token_request.h"
#include "storage/s3/aws_credentials.h"

namespace assay::storage {
namespace {

constexpr char kContainerHost[] = "http://169.254.170.2";
constexpr char kInstanceHost[] = "http://169.254.169.254";
constexpr char kInstanceHostIpv6[] = "http://[fd00:ec2::254]";
constexpr char kRolePath[] = "/latest/meta-data/iam/security-credentials/";
constexpr int kTokenLifeSeconds = 21600;

Result<std::string> ContainerToken(const Environment& environment) {
  if (const auto path = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    return ReadFile(*path);
  }
  return environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
}

Result<AwsCredentials> FetchContainer(const AwsContext& context, const std::string& url) {
  http::Request request;
  request.url = url;
  request.headers.Set("Accept", "application/json");
  ASSAY_ASSIGN_OR_RETURN(const std::string token, ContainerToken(context.environment));
  if (token.find_first_of("\r\n") != std::string::npos) {
    return Status::InvalidArgument("the container's authorization token has a line break, which no header can hold");
  }
  if (!token.empty()) {
    request.headers.Set("Authorization", token);
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer,
                         FetchJson(context.environment, request, "the container's credentials"));
  return ReadAwsCredentials(answer, "Token", "the container's credentials");
}

std::string InstanceEndpoint(const AwsContext& context) {
  const auto setting = [&](const char* variable, const char* key) {
    const auto value = context.environment.variable(variable);
    return value ? value : context.config.Find(context.profile, key);
  };
  std::string endpoint = setting("AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint").value_or("");
  if (endpoint.empty()) {
    const auto mode = setting("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ec2_metadata_service_endpoint_mode");
    const bool ipv6 = mode && (*mode == "ipv6" || *mode == "IPv6");
    endpoint = ipv6 ? kInstanceHostIpv6 : kInstanceHost;
  }
  while (endpoint.ends_with('/')) {
    endpoint.pop_back();
  }
  return endpoint;
}

Result<std::string> AskInstance(const AwsContext& context, const std::string& token, const std::string& path) {
  http::Request request;
  request.url = InstanceEndpoint(context) + path;
  request.headers.Set("x-aws-ec2-metadata-token", token);
  return FetchText(context.environment, request, "the instance's credentials");
}

Result<AwsCredentials> RunProcess(const std::string& command, const std::string& profile) {
  const std::string what = "credential_process of profile '" + profile + "'";
  const std::optional<std::vector<std::string>> words = SplitCommand(command);
  if (!words || words->empty()) {
    return Status::InvalidArgument(what + " is empty or has an open quote");
  }
  std::string output;
  SubprocessOptions options;
  options.argv = *words;
  options.on_stdout_line = [&output](std::string_view line) {
    output += line;
    output += '\n';
  };
  ASSAY_ASSIGN_OR_RETURN(Subprocess child, Subprocess::Start(std::move(options)));
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, child.Wait());
  if (!end.exited || end.exit_code != 0) {
    return Status::PermissionDenied(what + " ended with " + end.Describe() + " (run it by hand to see why)");
  }
  const nlohmann::json json = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("Version", nlohmann::json()) != 1) {
    return Status::PermissionDenied(what + " did not print a JSON object with \"Version\": 1");
  }
  return ReadAwsCredentials(json, "SessionToken", "the output of " + what);
}

}  // namespace

AwsAnswer FromContainer(const AwsContext& context) {
  const auto& variable = context.environment.variable;
  if (const auto path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    return ToAnswer(FetchContainer(context, kContainerHost + *path));
  }
  if (const auto url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    return ToAnswer(FetchContainer(context, *url));
  }
  return NotConfigured{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are not set"};
}

AwsAnswer FromInstanceMetadata(const AwsContext& context) {
  if (context.environment.variable("AWS_EC2_METADATA_DISABLED") == "true") {
    return NotConfigured{"switched off by AWS_EC2_METADATA_DISABLED"};
  }
  http::Request request;
  request.method = "PUT";
  request.url = InstanceEndpoint(context) + "/latest/api/token";
  request.headers.Set("x-aws-ec2-metadata-token-ttl-seconds", std::to_string(kTokenLifeSeconds));
  const Result<std::string> token = FetchText(context.environment, request, "a session of instance metadata");
  if (!token.ok()) {
    return NotConfigured{token.status().message()};
  }
  const Result<std::string> roles = AskInstance(context, *token, kRolePath);
  if (!roles.ok()) {
    return NotConfigured{roles.status().message()};
  }
  const std::string role(Trim(roles->substr(0, roles->find('\n'))));
  const Result<std::string> text = AskInstance(context, *token, kRolePath + role);
  if (!text.ok()) {
    return NotConfigured{text.status().message()};
  }
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  Result<AwsCredentials> credentials = ReadAwsCredentials(json, "Token", "the answer of instance metadata");
  if (!credentials.ok()) {
    return NotConfigured{credentials.status().message()};
  }
  credentials->source = "instance metadata, role " + role;
  return std::move(credentials).value();
}

AwsAnswer FromProcess(const AwsContext& context, const std::string& profile) {
  const std::optional<std::string> command = context.config.Find(profile, "credential_process");
  if (!command) {
    return NotConfigured{"profile '" + profile + "' has no credential_process"};
  }
  return ToAnswer(RunProcess(*command, profile));
}

}  // namespace assay::storage
