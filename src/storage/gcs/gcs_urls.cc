#include "storage/gcs/gcs_urls.h"

#include "http/message.h"

namespace assay::storage {

GcsUrls::GcsUrls(std::string endpoint, std::string bucket)
    : endpoint_(std::move(endpoint)), bucket_(std::move(bucket)) {
  while (endpoint_.ends_with('/')) {
    endpoint_.pop_back();
  }
}

std::string GcsUrls::Buckets() const {
  return endpoint_ + "/storage/v1/b";
}

std::string GcsUrls::Bucket() const {
  return Buckets() + "/" + http::PercentEncode(bucket_);
}

std::string GcsUrls::Objects() const {
  return Bucket() + "/o";
}

std::string GcsUrls::Object(std::string_view key) const {
  // A slash is encoded too: it would end the part of the path that is the object's name.
  return Objects() + "/" + http::PercentEncode(key);
}

std::string GcsUrls::Rewrite(std::string_view from_bucket, std::string_view from, std::string_view to) const {
  return endpoint_ + "/storage/v1/b/" + http::PercentEncode(from_bucket) + "/o/" + http::PercentEncode(from) +
         "/rewriteTo/b/" + http::PercentEncode(bucket_) + "/o/" + http::PercentEncode(to);
}

std::string GcsUrls::Compose(std::string_view key) const {
  return Object(key) + "/compose";
}

std::string GcsUrls::Upload() const {
  return endpoint_ + "/upload/storage/v1/b/" + http::PercentEncode(bucket_) + "/o";
}

std::string GcsUrls::XmlBucket() const {
  return endpoint_ + "/" + http::PercentEncode(bucket_);
}

std::string GcsUrls::XmlObject(std::string_view key) const {
  return XmlBucket() + "/" + http::PercentEncode(key, "/");
}

void QueryBuilder::AppendName(std::string_view name) {
  url_ += separator_;
  url_ += name;
  separator_ = '&';
}

QueryBuilder& QueryBuilder::Add(std::string_view name, std::string_view value) {
  if (!value.empty()) {
    AppendName(name);
    url_ += "=" + http::PercentEncode(value);
  }
  return *this;
}

QueryBuilder& QueryBuilder::AddFlag(std::string_view name) {
  AppendName(name);
  return *this;
}

}  // namespace assay::storage
