#include "launch/ray/ray_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <future>
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

// Streams of logs by node and file stand since 2.7, streaming generators of tasks are stable since 2.10.
constexpr int kOldestMinor = 10;

std::string TextOf(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Ray answers mistakes with a trace of Python's, whose last line says what is wrong.
std::string LastWordsOf(const std::string& text) {
  const size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) {
    return "without a word";
  }
  const size_t newline = text.rfind('\n', end);
  return OneLine(text.substr(newline == std::string::npos ? 0 : newline + 1, end + 1));
}

/// That with which Ray's own programs would ask; empty where the user has none.
std::string Token() {
  if (const std::string token = EnvironmentText("RAY_AUTH_TOKEN"); !token.empty()) {
    return token;
  }
  const std::string named = EnvironmentText("RAY_AUTH_TOKEN_PATH");
  const Result<std::string> text = ReadFile(named.empty() ? HomeDirectory() + "/.ray/auth_token" : named);
  return text.ok() ? std::string(Trim(*text)) : "";
}

class PieceSink : public http::BodySink {
 public:
  explicit PieceSink(const std::function<void(std::string_view)>& on_piece) : on_piece_(on_piece) {}
  Status Consume(std::span<const std::byte> chunk) override {
    on_piece_({reinterpret_cast<const char*>(chunk.data()), chunk.size()});
    return Status::Ok();
  }

 private:
  const std::function<void(std::string_view)>& on_piece_;
};

}  // namespace

RayApi::RayApi(std::string address)
    : address_(std::move(address)),
      token_(Token()),
      client_({.total_timeout_seconds = 60}),
      follower_({.stall_timeout_seconds = 0}) {}

http::Request RayApi::RequestOf(const std::string& method, const std::string& path) const {
  http::Request request{.method = method, .url = address_ + path};
  if (!token_.empty()) {
    request.headers.Add("Authorization", "Bearer " + token_);
  }
  return request;
}

Result<http::Response> RayApi::Call(const std::string& method, const std::string& path, std::string_view body) {
  http::Request request = RequestOf(method, path);
  if (!body.empty()) {
    request.headers.Add("Content-Type", "application/json");
    request.body.push_back(std::as_bytes(std::span(body)));
  }
  Result<http::Response> response = client_.Fetch(std::move(request));
  if (!response.ok()) {
    return Status::Io(
        fmt::format("no Ray dashboard answers at {}: {} (start one with `ray start --head`, or name its "
                    "dashboard with --address)",
                    address_, response.status().message()));
  }
  if (response->status >= 400) {
    return Status::Io(fmt::format("{} {}{} was answered with {}: {}", method, address_, path, response->status,
                                  LastWordsOf(response->body)));
  }
  return response;
}

Status RayApi::CheckVersion() {
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Call("GET", "/api/version", ""));
  const Result<nlohmann::json> json = ParseJson(response.body, address_);
  const std::string version = json.ok() && json->is_object() ? TextOf(*json, "ray_version") : "";
  if (version.empty()) {
    return Status::InvalidArgument(fmt::format("{} answers, but is no dashboard of Ray's", address_));
  }
  int major = 0;
  int minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2 || major != 2 || minor < kOldestMinor) {
    return Status::Unsupported(
        fmt::format("the cluster at {} is Ray {}; this needs Ray 2, 2.{} or later", address_, version, kOldestMinor));
  }
  return Status::Ok();
}

Status RayApi::Submit(const std::string& id, const std::string& entrypoint) {
  return Call("POST", "/api/jobs/", DumpJson({{"submission_id", id}, {"entrypoint", entrypoint}})).status();
}

Result<RayJobState> RayApi::State(const std::string& id) {
  ASSAY_ASSIGN_OR_RETURN(const http::Response response, Call("GET", "/api/jobs/" + id, ""));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(response.body, address_));
  constexpr size_t kMostWords = 400;  // the end of what a job that failed wrote is among them
  const std::string message = OneLine(TextOf(json, "message"));
  const std::string words = message.substr(message.size() - std::min(message.size(), kMostWords));
  return RayJobState{TextOf(json, "status"), words, TextOf(json, "driver_node_id")};
}

Status RayApi::Stop(const std::string& id) {
  return Call("POST", "/api/jobs/" + id + "/stop", "{}").status();
}

Status RayApi::Put(const std::string& name, std::string_view text) {
  return Call("PUT", "/api/packages/gcs/" + name, text).status();
}

Status RayApi::FollowLog(const std::string& id, const std::string& node_id,
                         const std::function<void(std::string_view)>& on_piece) {
  PieceSink sink(on_piece);
  const std::string path = fmt::format(
      "/api/v0/logs/stream?node_id={}&filename=job-driver-{}.log&lines=-1&interval=0.05&timeout=30", node_id, id);
  std::promise<http::Outcome> ended;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) {
      return Status::Aborted("nobody follows any more");
    }
    following_ = follower_.Start({.request = RequestOf("GET", path), .sink = &sink},
                                 [&](http::Outcome outcome) { ended.set_value(std::move(outcome)); });
  }
  const http::Outcome outcome = ended.get_future().get();
  {
    const std::lock_guard lock(mutex_);
    following_.reset();
  }
  if (!outcome.ok()) {
    return Status::Io(fmt::format("the log of {} at {} broke off: {}", id, address_, outcome.detail));
  }
  return outcome.response.status < 400
             ? Status::Ok()
             : Status::Io(fmt::format("the log of {} at {} cannot be read: {}", id, address_, outcome.response.status));
}

void RayApi::BreakOff() {
  const std::lock_guard lock(mutex_);
  if (following_) {
    follower_.Cancel(*following_);
  }
}

void RayApi::EndFollowing() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  BreakOff();
}

}  // namespace assay::launch
