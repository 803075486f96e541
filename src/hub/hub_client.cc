#include "hub/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "base/environment.h"
#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "job/hub_cache.h"

namespace assay::hub {
namespace {

constexpr char kDefaultEndpoint[] = "https://huggingface.co";
constexpr int kMaxRedirects = 5;
constexpr int kAttempts = 5;  ///< in a row that brought nothing
constexpr double kFirstWaitSeconds = 0.5;
constexpr auto kPoll = std::chrono::milliseconds(50);

Status Interrupted() {
  return Status::Aborted("interrupted; the same command goes on with what has come");
}

std::string TokenFromEnvironment() {
  if (std::string token = std::string(Trim(EnvironmentText("HF_TOKEN"))); !token.empty()) {
    return token;
  }
  const std::string path = EnvironmentText("HF_TOKEN_PATH");
  const auto token = ReadFile(path.empty() ? job::HubHomeDirectory() + "/token" : path);
  return token.ok() ? std::string(Trim(*token)) : "";
}

/// False when it was interrupted meanwhile. The first attempt, and the first after one that brought something, is 1.
bool WaitBeforeAttempt(int attempt) {
  const double seconds = kFirstWaitSeconds * (1 << std::max(attempt - 2, 0));
  const double end = MonotonicSeconds() + seconds;
  while (MonotonicSeconds() < end && !InterruptRequested()) {
    std::this_thread::sleep_for(kPoll);
  }
  return !InterruptRequested();
}

/// What two endpoints said; the second's kind counts.
Status Both(const Status& first, const Status& second) {
  return first.ok() ? second : second.WithContext(first.message());
}

/// Client::Run() that a Ctrl-C ends.
http::Outcome RunUntilInterrupt(http::Client& client, http::Transfer transfer) {
  std::promise<http::Outcome> promise;
  std::future<http::Outcome> future = promise.get_future();
  const http::TransferId id =
      client.Start(std::move(transfer), [&](http::Outcome outcome) { promise.set_value(std::move(outcome)); });
  while (future.wait_for(kPoll) != std::future_status::ready) {
    if (InterruptRequested()) {
      client.Cancel(id);
      break;
    }
  }
  return future.get();
}

/// A signature may stand in the query, which is nobody's but the store's.
std::string WithoutQuery(const std::string& url) {
  return url.substr(0, url.find('?'));
}

/// Where a redirect of `from` leads (RFC 9110 section 10.2.2), for an absolute address or an absolute path.
Result<std::string> RedirectOf(const std::string& from, const http::Response& response) {
  const std::string location(response.headers.Find("Location").value_or(""));
  const auto base = http::ParseUrl(from);
  const std::string target =
      location.starts_with("/") ? fmt::format("{}://{}{}", base->scheme, base->authority(), location) : location;
  const auto url = http::ParseUrl(target);
  if (!url || (base->scheme == "https" && url->scheme != "https")) {
    return Status::Io(
        fmt::format("{} leads to '{}', where nothing is fetched from", WithoutQuery(from), WithoutQuery(location)));
  }
  return target;
}

/// Of kind kIo where the same request may have an answer soon.
Status Failure(const std::string& url, const http::Outcome& outcome) {
  if (outcome.error == http::TransportError::kRejected) {  // what came was refused here: not the hub's doing
    return Status::Internal(outcome.detail);
  }
  const std::string line = fmt::format("{}: {}", WithoutQuery(url), outcome.detail);
  return outcome.error == http::TransportError::kUnsendable ? Status::InvalidArgument(line) : Status::Io(line);
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Whether the same request may have another answer soon.
bool IsPassing(int status) {
  return status == 408 || status == 429 || status >= 500;
}

Status Refusal(const std::string& what, const http::Response& response) {
  switch (response.status) {
    case 401:
    case 403:
      return Status::PermissionDenied(fmt::format(
          "{}: the hub answers {}: there is no such model, or it is private or gated (accept its terms on its page, "
          "and set HF_TOKEN)",
          what, response.status));
    case 404:
      return Status::NotFound(fmt::format("{}: the hub answers 404: no such model, revision or file", what));
    default:
      return Status::Io(fmt::format("{}: the hub answers {}", what, response.status));
  }
}

}  // namespace

Result<HubPlace> PlaceFromEnvironment(std::vector<std::string> endpoints) {
  if (endpoints.empty()) {
    const std::string set = EnvironmentText("HF_ENDPOINT");
    endpoints.push_back(set.empty() ? kDefaultEndpoint : set);
  }
  for (std::string& endpoint : endpoints) {
    while (endpoint.ends_with('/')) {
      endpoint.pop_back();
    }
    if (const auto url = http::ParseUrl(endpoint); !url || !url->query.empty()) {
      return Status::InvalidArgument(
          fmt::format("the endpoint '{}' is no address of a hub; expected one like {}", endpoint, kDefaultEndpoint));
    }
  }
  std::string token = TokenFromEnvironment();
  if (!http::IsHeaderValue(token)) {
    return Status::InvalidArgument(
        "the token of HF_TOKEN, or of the file that holds it, has more than one line or a control character");
  }
  return HubPlace{.endpoints = std::move(endpoints), .token = std::move(token)};
}

HubClient::HubClient(HubPlace place, http::ClientOptions options)
    : place_(std::move(place)), client_(std::move(options)) {}

HubClient::~HubClient() = default;

Result<http::Response> HubClient::Get(const std::string& endpoint, const std::string& path, http::BodySink* sink,
                                      int64_t from) {
  std::string url = endpoint + path;
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    http::Transfer transfer{.request = {.url = url}, .sink = sink};
    // What a hub leads to is signed by its address; the token is the hub's alone.
    if (!place_.token.empty() && endpoint == place_.endpoints.front() && url.starts_with(endpoint + "/")) {
      transfer.request.headers.Set("Authorization", "Bearer " + place_.token);
    }
    if (from > 0) {
      transfer.request.headers.Set("Range", fmt::format("bytes={}-", from));
    }
    http::Outcome outcome = RunUntilInterrupt(client_, std::move(transfer));
    if (!outcome.ok()) {
      return InterruptRequested() ? Interrupted() : Failure(url, outcome);
    }
    if (!IsRedirect(outcome.response.status)) {
      return std::move(outcome.response);
    }
    ASSAY_ASSIGN_OR_RETURN(url, RedirectOf(url, outcome.response));
  }
  return Status::Io(fmt::format("{}{} leads from one address to another without an end", endpoint, path));
}

Result<HubListing> HubClient::ListFrom(const std::string& endpoint, const std::string& repository,
                                       const std::string& revision) {
  const std::string path =
      fmt::format("/api/models/{}/revision/{}?blobs=true", repository, http::PercentEncode(revision));
  const std::string what = fmt::format("{}/{} ({})", endpoint, repository, revision);
  for (int attempt = 1;; ++attempt) {
    const auto response = Get(endpoint, path, nullptr, 0);
    if (response.ok() && response->status == 200) {
      return ParseListing(response->body, what);
    }
    const Status failed = response.ok() ? Refusal(what, *response) : response.status();
    const bool is_final = response.ok() ? !IsPassing(response->status) : failed.code() != ErrorCode::kIo;
    if (is_final || attempt == kAttempts) {
      return failed;
    }
    if (!WaitBeforeAttempt(attempt + 1)) {
      return Interrupted();
    }
  }
}

Result<HubListing> HubClient::List(const std::string& repository, const std::string& revision) {
  Status failed;
  for (const std::string& endpoint : place_.endpoints) {
    auto listing = ListFrom(endpoint, repository, revision);
    if (listing.ok() || listing.status().code() == ErrorCode::kAborted) {
      return listing;
    }
    failed = Both(failed, listing.status());
  }
  return failed;
}

Status HubClient::ReceiveFrom(const std::string& endpoint, const std::string& path, const HubFile& file,
                              ResumableSink& sink) {
  for (int attempt = 1; sink.received() < file.bytes; ++attempt) {
    const int64_t before = sink.received();
    const auto response = Get(endpoint, path, &sink, before);
    if (sink.received() == file.bytes) {
      break;
    }
    const std::string url = endpoint + path;
    const Status failed =
        !response.ok() ? response.status()
        : response->status / 100 != 2
            ? Refusal(url, *response)
            : Status::Io(fmt::format("{} ends after {} of {} bytes", url, sink.received(), file.bytes));
    const bool is_final =
        response.ok() ? response->status / 100 != 2 && !IsPassing(response->status) : failed.code() != ErrorCode::kIo;
    if (sink.received() > before) {
      attempt = 0;
    }
    if (is_final || attempt == kAttempts) {
      return failed;
    }
    if (!WaitBeforeAttempt(attempt + 1)) {
      return Interrupted();
    }
  }
  return Status::Ok();
}

Status HubClient::Receive(const std::string& repository, const std::string& commit, const HubFile& file,
                          ResumableSink& sink) {
  const std::string path = fmt::format("/{}/resolve/{}/{}", repository, commit, http::PercentEncode(file.path, "/"));
  Status failed;
  for (const std::string& endpoint : place_.endpoints) {
    const Status received = ReceiveFrom(endpoint, path, file, sink);
    if (received.ok() || received.code() == ErrorCode::kAborted) {
      return received;
    }
    failed = Both(failed, received);
  }
  return failed;
}

}  // namespace assay::hub
