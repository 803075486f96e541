// Addresses of Oracle Cloud Infrastructure's Object Storage.
// Source: "Object Storage Service API" of the Oracle Cloud Infrastructure API reference, version 20160918.
#pragma once

#include <string>
#include <string_view>

namespace assay::storage {

class OciUrls {
 public:
  /// `endpoint`: "https://objectstorage.us-ashburn-1.oraclecloud.com" or another that serves the same paths.
  /// That of a pre-authenticated request, ".../p/secret", works too.
  OciUrls(std::string endpoint, std::string name_space, std::string bucket);

  /// Whether the address itself is the proof, so that nothing is signed.
  bool preauthenticated() const;

  const std::string& endpoint() const { return endpoint_; }
  const std::string& name_space() const { return namespace_; }
  const std::string& bucket() const { return bucket_; }

  /// ".../n/namespace/b": the collection of buckets.
  std::string Buckets() const;
  /// ".../n/namespace/b/bucket"
  std::string Bucket() const;
  std::string Objects() const { return Bucket() + "/o"; }
  std::string Object(std::string_view key) const;
  std::string Uploads() const { return Bucket() + "/u"; }
  std::string Upload(std::string_view key) const;
  std::string Copy() const { return Bucket() + "/actions/copyObject"; }
  std::string PreauthenticatedRequests() const { return Bucket() + "/p/"; }
  std::string WorkRequest(std::string_view id) const;

 private:
  std::string endpoint_;
  std::string namespace_;
  std::string bucket_;
};

}  // namespace assay::storage
