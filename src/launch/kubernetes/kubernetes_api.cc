#include "launch/kubernetes/kubernetes_api.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"

namespace assay::launch {
namespace {

using nlohmann::json;

constexpr char kAccountOfPods[] = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr int kOldestMinor = 24;  // indexed jobs are stable since

Result<std::string> AddressOf(std::string address) {
  const std::string host = EnvironmentText("KUBERNETES_SERVICE_HOST");
  if (address.empty() && host.empty()) {
    return Status::InvalidArgument(
        "--address must name the API server of Kubernetes (http://127.0.0.1:8001 where `kubectl proxy` runs); only in "
        "a "
        "pod is it known");
  }
  if (address.empty()) {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    const std::string port = EnvironmentText("KUBERNETES_SERVICE_PORT");
    return fmt::format("https://{}:{}", is_ipv6 ? "[" + host + "]" : host, port.empty() ? "443" : port);
  }
  while (address.ends_with('/')) {
    address.pop_back();
  }
  return address;
}

std::string AccountFolder() {
  const std::string named = EnvironmentText("ASSAY_KUBERNETES_ACCOUNT");
  return named.empty() ? kAccountOfPods : named;
}

constexpr int kConflict = 409;
constexpr int kTooManyRequests = 429;
constexpr int kServerError = 500;

/// Empty where `response` has no such text.
std::string Said(const http::Response& response, const char* name) {
  const Result<json> said = ParseJson(response.body, "");
  if (!said.ok() || !said->is_object() || !said->contains(name) || !said->at(name).is_string()) {
    return "";
  }
  return said->at(name).get<std::string>();
}

/// Empty where there is no such file.
std::string TextOfFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  return text.ok() ? std::string(Trim(*text)) : "";
}

std::string NamespaceOf(const std::string& account) {
  const std::string named = EnvironmentText("ASSAY_KUBERNETES_NAMESPACE");
  const std::string own = named.empty() ? TextOfFile(account + "/namespace") : named;
  return own.empty() ? "default" : own;
}

std::string AuthorityOf(const std::string& account) {
  const std::string path = account + "/ca.crt";
  return TextOfFile(path).empty() ? "" : path;
}

}  // namespace

KubernetesApi::KubernetesApi(std::string address, std::string account, const std::string& name_space,
                             const JobKind& kind)
    : address_(std::move(address)),
      account_(std::move(account)),
      jobs_(fmt::format("/apis/{}/namespaces/{}/{}", kind.api, http::PercentEncode(name_space), kind.plural)),
      pods_(fmt::format("/api/v1/namespaces/{}/pods", http::PercentEncode(name_space))),
      client_({.total_timeout_seconds = 60, .ca_file = AuthorityOf(account_)}) {}

Result<std::unique_ptr<KubernetesApi>> KubernetesApi::Open(const std::string& address, const JobKind& kind) {
  ASSAY_ASSIGN_OR_RETURN(std::string url, AddressOf(address));
  std::string account = AccountFolder();
  const std::string name_space = NamespaceOf(account);
  auto api = std::unique_ptr<KubernetesApi>(new KubernetesApi(std::move(url), std::move(account), name_space, kind));
  ASSAY_RETURN_IF_ERROR(api->CheckVersion());
  return api;
}

Result<http::Response> KubernetesApi::Send(const std::string& method, const std::string& path,
                                           const std::string& body) {
  http::Request request{.method = method, .url = address_ + path};
  request.headers.Add("Accept", "application/json");
  // Read anew each time: the token of a pod is replaced every hour.
  if (const std::string token = TextOfFile(account_ + "/token"); !token.empty()) {
    request.headers.Add("Authorization", "Bearer " + token);
  }
  if (!body.empty()) {
    request.headers.Add("Content-Type", "application/json");
    request.body.push_back(std::as_bytes(std::span(body)));
  }
  Result<http::Response> response = client_.Fetch(std::move(request));
  return response.ok() ? std::move(response)
                       : Status::Io(fmt::format("no API server of Kubernetes answers at {}: {}", address_,
                                                response.status().message()));
}

Status KubernetesApi::Refused(const std::string& method, const std::string& path,
                              const http::Response& response) const {
  const std::string words = Said(response, "message");
  std::string line = fmt::format("{} {}{} was answered with {}: {}", method, address_, path, response.status,
                                 OneLine(words.empty() ? response.body.substr(0, 200) : words));
  if (response.status == 401 || response.status == 403) {
    return Status::PermissionDenied(std::move(line));
  }
  const bool is_for_now =
      response.status == kConflict || response.status == kTooManyRequests || response.status >= kServerError;
  return is_for_now ? Status::Io(std::move(line)) : Status::InvalidArgument(std::move(line));
}

Result<json> KubernetesApi::Call(const std::string& method, const std::string& path, const std::string& body) {
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Send(method, path, body));
  if (response.status >= 300) {
    return Refused(method, path, response);
  }
  return ParseJson(response.body, address_ + path);
}

Status KubernetesApi::CheckVersion() {
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Send("GET", "/version", ""));
  if (response.status == 401 || response.status == 403) {
    return Refused("GET", "/version", response);
  }
  const std::string version = Said(response, "gitVersion");
  int major = 0;
  int minor = 0;
  if (std::sscanf(version.c_str(), "v%d.%d", &major, &minor) != 2) {
    return Status::InvalidArgument(fmt::format("{} answers, but is no API server of Kubernetes", address_));
  }
  if (major != 1 || minor < kOldestMinor) {
    return Status::Unsupported(
        fmt::format("the cluster at {} is Kubernetes {}; this needs 1.{} or later", address_, version, kOldestMinor));
  }
  return Status::Ok();
}

Status KubernetesApi::CreateJob(const json& job) {
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Send("POST", jobs_, DumpJson(job)));
  const bool is_there = response.status == kConflict && Said(response, "reason") == "AlreadyExists";
  return response.status < 300 || is_there ? Status::Ok() : Refused("POST", jobs_, response);
}

Result<std::optional<json>> KubernetesApi::FindJob(const std::string& name) {
  const std::string path = jobs_ + "/" + name;
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Send("GET", path, ""));
  if (response.status == 404) {
    return std::optional<json>();
  }
  if (response.status >= 300) {
    return Refused("GET", path, response);
  }
  ASSAY_ASSIGN_OR_RETURN(json job, ParseJson(response.body, address_ + path));
  return std::optional<json>(std::move(job));
}

Status KubernetesApi::DeleteJob(const std::string& name) {
  const std::string path = jobs_ + "/" + name;
  const json how = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Send("DELETE", path, DumpJson(how)));
  return response.status < 300 || response.status == 404 ? Status::Ok() : Refused("DELETE", path, response);
}

Result<json> KubernetesApi::PodsOf(const std::string& label, const std::string& value) {
  return Call("GET", fmt::format("{}?labelSelector={}%3D{}", pods_, label, value));
}

Result<json> KubernetesApi::Nodes() {
  return Call("GET", "/api/v1/nodes");
}

}  // namespace assay::launch
