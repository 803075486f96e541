#include "storage/s3/s3_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "http/message.h"

namespace assay::storage {
namespace {

bool IsIpAddress(const std::string& host) {
  in_addr parsed;
  return host.starts_with('[') || inet_pton(AF_INET, host.c_str(), &parsed) == 1;
}

bool UsesPathStyle(const std::string& bucket, const http::Url& endpoint, std::optional<bool> virtual_host_style) {
  if (virtual_host_style) {
    return !*virtual_host_style;
  }
  return IsIpAddress(endpoint.host) || endpoint.host == "localhost" || bucket.find('.') != std::string::npos;
}

}  // namespace

Result<S3Address> S3Address::Make(const std::string& bucket, const std::string& endpoint, const std::string& region,
                                  std::optional<bool> virtual_host_style) {
  const std::string domain = region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const std::string text = endpoint.empty() ? fmt::format("https://s3.{}.{}", region, domain) : endpoint;
  const auto url = http::ParseUrl(text);
  if (!url || !url->query.empty()) {
    return Status::InvalidArgument(
        fmt::format("'{}' is no endpoint (write it as http://127.0.0.1:9000 or https://s3.example.com)", text));
  }
  std::string path = url->path;
  if (!path.ends_with('/')) {
    path += '/';
  }
  S3Address address;
  address.bucket_ = bucket;
  address.is_amazons_ = url->host.ends_with(".amazonaws.com") || url->host.ends_with(".amazonaws.com.cn");
  address.service_ = fmt::format("{}://{}{}", url->scheme, url->authority(), path);
  address.base_ = UsesPathStyle(bucket, *url, virtual_host_style)
                      ? fmt::format("{}://{}{}{}/", url->scheme, url->authority(), path, bucket)
                      : fmt::format("{}://{}.{}{}", url->scheme, bucket, url->authority(), path);
  return address;
}

std::string S3Address::BucketUrl(std::string_view query) const {
  return fmt::format("{}?{}", base_, query);
}

std::string S3Address::ObjectUrl(std::string_view key, std::string_view query) const {
  std::string url = base_ + http::PercentEncode(key, "/");
  if (!query.empty()) {
    url += '?';
    url += query;
  }
  return url;
}

}  // namespace assay::storage
