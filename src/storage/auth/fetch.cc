#include "storage/auth/fetch.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "http/client.h"
#include "storage/auth/credential_address.h"

namespace assay::storage {
namespace {

constexpr double kMetadataSeconds = 1;
constexpr double kTokenSeconds = 60;
constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kFirstPause{200};

bool IsTransient(const Result<http::Response>& response) {
  return !response.ok() || response->status >= 500 || response->status == 429;
}

// Tries again after what a service gets over by itself. An address where nothing answers is asked once if it is that of
// a metadata service: most machines have none.
Result<http::Response> FetchPatiently(http::Client& client, const http::Request& request, bool metadata) {
  Result<http::Response> response = client.Fetch(request);
  std::chrono::milliseconds pause = kFirstPause;
  for (int attempt = 1; attempt < kAttempts && IsTransient(response); ++attempt) {
    if (metadata && !response.ok()) {
      break;
    }
    std::this_thread::sleep_for(pause);
    pause *= 2;
    response = client.Fetch(request);
  }
  return response;
}

double MetadataSeconds() {
  const char* text = std::getenv("AWS_METADATA_SERVICE_TIMEOUT");
  const double seconds = text != nullptr ? std::atof(text) : 0;
  return seconds > 0 ? seconds : kMetadataSeconds;
}

// Never less than TLS that is checked, whatever is allowed towards a store: what is asked for opens all of them.
http::ClientOptions ForCredentials(const FetchOptions& options) {
  http::ClientOptions client;
  client.connect_timeout_seconds = options.connect_timeout_seconds;
  client.stall_timeout_seconds = options.stall_timeout_seconds;
  client.total_timeout_seconds = kTokenSeconds;
  client.ca_file = options.ca_file;
  client.proxy = options.proxy;
  return client;
}

}  // namespace

Fetch MakeFetch(const FetchOptions& options) {
  http::ClientOptions elsewhere = ForCredentials(options);
  http::ClientOptions loopback = elsewhere;
  loopback.use_proxy = false;
  // Addresses that lead nowhere on a machine without a metadata service: waiting for them must be short.
  http::ClientOptions metadata = loopback;
  metadata.connect_timeout_seconds = metadata.total_timeout_seconds = MetadataSeconds();
  const auto clients = std::make_shared<std::map<Reach, http::Client>>();
  clients->try_emplace(Reach::kElsewhere, elsewhere);
  clients->try_emplace(Reach::kLoopback, loopback);
  clients->try_emplace(Reach::kMetadata, metadata);
  return [clients](const http::Request& request) -> Result<http::Response> {
    const auto url = http::ParseUrl(request.url);
    if (!url) {
      return Status::InvalidArgument("the address is no http or https URL");
    }
    ASSAY_RETURN_IF_ERROR(CheckCredentialAddress(*url));
    const Reach reach = ReachOf(*url);
    return FetchPatiently(clients->at(reach), request, reach == Reach::kMetadata);
  };
}

}  // namespace assay::storage
