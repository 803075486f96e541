#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "http/client.h"
#include "storage/auth/factory.h"

namespace assay::storage {
namespace {

constexpr double kMetadataSeconds = 1;
constexpr double kTokenSeconds = 60;
constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kFirstPause{200};

// Addresses that lead nowhere on a machine without a metadata service: waiting for them must be short.
bool IsMetadataService(const http::Url& url) {
  return url.host.starts_with("169.254.") || url.host == "[fd00:ec2::254]" || url.host == "metadata.google.internal";
}

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

}  // namespace

Fetch MakeFetch(const StoreOptions& options) {
  http::ClientOptions client_options;
  client_options.connect_timeout_seconds = options.connect_timeout_seconds;
  client_options.stall_timeout_seconds = options.stall_timeout_seconds;
  client_options.total_timeout_seconds = kTokenSeconds;
  client_options.verify_tls = options.verify_tls;
  client_options.ca_file = options.ca_file;
  client_options.proxy = options.proxy;
  http::ClientOptions metadata_options;
  metadata_options.connect_timeout_seconds = MetadataSeconds();
  metadata_options.total_timeout_seconds = MetadataSeconds();
  auto client = std::make_shared<http::Client>(client_options);
  auto metadata_client = std::make_shared<http::Client>(metadata_options);
  return [client, metadata_client](const http::Request& request) {
    const auto url = http::ParseUrl(request.url);
    const bool metadata = url && IsMetadataService(*url);
    return FetchPatiently(metadata ? *metadata_client : *client, request, metadata);
  };
}

}  // namespace assay::storage
