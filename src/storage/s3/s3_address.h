// Where a bucket of S3 and its objects are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::storage {

/// The base of a bucket's URLs. Path style (endpoint/bucket/key) where the endpoint is an IP address or localhost,
/// where the bucket's name has dots, which no wildcard certificate covers, and where the caller says so; else
/// virtual-host style (bucket.endpoint/key).
class S3Address {
 public:
  /// `endpoint`: empty for Amazon's of `region`. `virtual_host_style`: what decides where it says something.
  static Result<S3Address> Make(const std::string& bucket, const std::string& endpoint, const std::string& region,
                                std::optional<bool> virtual_host_style = std::nullopt);

  const std::string& bucket() const { return bucket_; }
  /// The service, without the bucket: "https://s3.eu-west-1.amazonaws.com/".
  const std::string& service() const { return service_; }
  /// Amazon's own, not another that speaks its language.
  bool is_amazons() const { return is_amazons_; }
  /// "https://bucket.s3.eu-west-1.amazonaws.com/"
  std::string BucketUrl(std::string_view query) const;
  std::string ObjectUrl(std::string_view key, std::string_view query = {}) const;

 private:
  std::string bucket_;
  std::string service_;
  bool is_amazons_ = false;
  std::string base_;  ///< of the bucket, ends with '/'
};

}  // namespace assay::storage
