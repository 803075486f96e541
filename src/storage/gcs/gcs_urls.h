// Addresses of Google Cloud Storage: the JSON API, its upload host, and the XML API.
#pragma once

#include <string>
#include <string_view>

namespace assay::storage {

inline constexpr char kGcsEndpoint[] = "https://storage.googleapis.com";

class GcsUrls {
 public:
  /// `endpoint`: "https://storage.googleapis.com" or another that serves the same paths; a slash at its end does not
  /// count.
  GcsUrls(std::string endpoint, std::string bucket);

  const std::string& endpoint() const { return endpoint_; }
  const std::string& bucket() const { return bucket_; }
  /// ".../storage/v1/b": the collection of buckets.
  std::string Buckets() const;
  std::string Bucket() const;
  /// ".../storage/v1/b/bucket/o": the collection of objects.
  std::string Objects() const;
  /// ".../storage/v1/b/bucket/o/key"
  std::string Object(std::string_view key) const;
  /// ".../storage/v1/b/from_bucket/o/from/rewriteTo/b/bucket/o/to"
  std::string Rewrite(std::string_view from_bucket, std::string_view from, std::string_view to) const;
  std::string Compose(std::string_view key) const;
  /// ".../upload/storage/v1/b/bucket/o"
  std::string Upload() const;
  /// ".../bucket": the XML API.
  std::string XmlBucket() const;
  std::string XmlObject(std::string_view key) const;

 private:
  std::string endpoint_;
  std::string bucket_;
};

/// Builds "url?name=value&...": values are encoded, empty ones left out.
class QueryBuilder {
 public:
  explicit QueryBuilder(std::string url) : url_(std::move(url)) {}
  QueryBuilder& Add(std::string_view name, std::string_view value);
  /// A name alone.
  QueryBuilder& AddFlag(std::string_view name);
  std::string Take() { return std::move(url_); }

 private:
  void AppendName(std::string_view name);
  std::string url_;
  char separator_ = '?';
};

}  // namespace assay::storage
