#include "storage/oci/oci_urls.h"

#include "http/message.h"

namespace assay::storage {

OciUrls::OciUrls(std::string endpoint, std::string name_space, std::string bucket)
    : endpoint_(std::move(endpoint)), namespace_(std::move(name_space)), bucket_(std::move(bucket)) {
  while (endpoint_.ends_with('/')) {
    endpoint_.pop_back();
  }
}

bool OciUrls::preauthenticated() const {
  const auto url = http::ParseUrl(endpoint_);
  return url && url->path.starts_with("/p/") && url->path.size() > 3;
}

std::string OciUrls::Buckets() const {
  return endpoint_ + "/n/" + http::PercentEncode(namespace_) + "/b";
}

std::string OciUrls::Bucket() const {
  return Buckets() + "/" + http::PercentEncode(bucket_);
}

std::string OciUrls::Object(std::string_view key) const {
  // With its slashes encoded a key stays one part of the path, whatever it holds.
  return Objects() + "/" + http::PercentEncode(key);
}

std::string OciUrls::Upload(std::string_view key) const {
  return Uploads() + "/" + http::PercentEncode(key);
}

std::string OciUrls::WorkRequest(std::string_view id) const {
  return endpoint_ + "/workRequests/" + http::PercentEncode(id);
}

}  // namespace assay::storage
