// The XML API of Google Cloud Storage, which HMAC keys are good for: S3's requests under Google's names.
// Source: "XML API reference" of the Cloud Storage documentation.
#pragma once

#include <string>

#include "storage/s3/s3_dialect.h"

namespace assay::storage {

/// Etags are generations, as in the JSON API; empty where an answer does not tell one. No header of S3's is sent: the
/// service refuses a mixture.
class GcsXmlDialect : public S3Dialect {
 public:
  GcsXmlDialect(S3Address address, const StoreOptions& options);

  std::string Uri(std::string_view key) const override;
  Failure ReadFailure(const http::Response& answer) const override;
  Result<Outgoing> MakeBucket() const override;
  Outgoing Head(const std::string& key) const override;
  Read<ObjectInfo> ReadHead(const Asked& asked, const http::Response& answer) const override;
  Outgoing Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const override;
  Read<RangeHead> ReadGet(const Asked& asked, const http::Response& answer) const override;
  Outgoing Put(const std::string& key, ChecksumSource& body, const WriteOptions& options,
               const std::string& token) const override;
  Read<ObjectInfo> ReadPut(const std::string& key, const http::Response& answer) const override;
  Outgoing CreateUpload(const std::string& key, const WriteOptions& options, const std::string& token) const override;
  Outgoing PutPart(const std::string& key, const std::string& upload_id, int number,
                   ChecksumSource& body) const override;
  Read<UploadedPart> ReadPutPart(const http::Response& answer) const override;
  /// Lists tell no checksums here.
  bool ListProves(const UploadedPart& part) const override { return Dialect::ListProves(part); }
  Outgoing CompleteUpload(const std::string& key, const std::string& upload_id, std::span<const UploadedPart> parts,
                          const std::optional<Checksum>& whole, const WriteOptions& options) const override;
  Read<ObjectInfo> ReadCompleteUpload(const std::string& key, const http::Response& answer) const override;
  Outgoing Copy(const std::string& from_bucket, const std::string& from, const std::string& from_etag,
                const std::string& to, const WriteOptions& options) const override;
  Read<ObjectInfo> ReadCopy(const http::Response& answer) const override;
  /// At most 32 sources, each of the generation that its etag says; ReadPut() reads the answer.
  Outgoing Compose(std::span<const ObjectInfo> sources, const std::string& to, const WriteOptions& options) const;

 protected:
  Outgoing Make(const char* method, std::string url) const override;
  void AddNewObjectHeaders(http::Headers& headers, const WriteOptions& options,
                           const std::string& token) const override;
};

}  // namespace assay::storage
