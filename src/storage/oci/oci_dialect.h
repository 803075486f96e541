// The requests of Oracle Cloud Infrastructure's Object Storage, and its answers.
// Source: "Object Storage Service API" of the Oracle Cloud Infrastructure API reference, version 20160918.
#pragma once

#include <string>

#include "storage/oci/oci_urls.h"
#include "storage/options.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

class OciDialect : public Dialect {
 public:
  OciDialect(OciUrls urls, const StoreOptions& options);

  std::string Uri(std::string_view key) const override;
  const DialectTraits& traits() const override { return traits_; }
  Failure ReadFailure(const http::Response& answer) const override;

  Outgoing Head(const std::string& key) const override;
  Read<ObjectInfo> ReadHead(const Asked& asked, const http::Response& answer) const override;
  Outgoing Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const override;
  Read<RangeHead> ReadGet(const Asked& asked, const http::Response& answer) const override;
  Outgoing Put(const std::string& key, ChecksumSource& body, const WriteOptions& options,
               const std::string& token) const override;
  Read<ObjectInfo> ReadPut(const std::string& key, const http::Response& answer) const override;
  Outgoing CreateUpload(const std::string& key, const WriteOptions& options, const std::string& token) const override;
  Read<std::string> ReadCreateUpload(const http::Response& answer) const override;
  Outgoing PutPart(const std::string& key, const std::string& upload_id, int number,
                   ChecksumSource& body) const override;
  Read<UploadedPart> ReadPutPart(const http::Response& answer) const override;
  Outgoing CompleteUpload(const std::string& key, const std::string& upload_id, std::span<const UploadedPart> parts,
                          const std::optional<Checksum>& whole, const WriteOptions& options) const override;
  Read<ObjectInfo> ReadCompleteUpload(const std::string& key, const http::Response& answer) const override;
  Outgoing AbortUpload(const std::string& key, const std::string& upload_id) const override;
  Outgoing ListParts(const std::string& key, const std::string& upload_id, const std::string& page) const override;
  Read<PartsPage> ReadListParts(const http::Response& answer) const override;
  bool ListProves(const UploadedPart& part) const override { return part.digest.has_value(); }
  Outgoing List(const ListOptions& options) const override;
  Read<ListPage> ReadList(const http::Response& answer) const override;
  Outgoing Remove(const std::string& key) const override;
  Result<Outgoing> MakeBucket() const override;
  Outgoing RemoveBucket() const override;

  // Beyond what all stores have.

  /// Begins a copy from bucket `from` of the same namespace, which goes on within the service; the answer's
  /// opc-work-request-id names it.
  Outgoing Copy(const OciUrls& from, const ObjectInfo& source, const std::string& to, const std::string& region,
                const WriteOptions& options) const;
  Outgoing WorkRequest(const std::string& id) const;
  Outgoing Presign(const std::string& key, bool write, double expires) const;
  Outgoing ListUploads(const std::string& page) const;
  const OciUrls& urls() const { return urls_; }

 private:
  Outgoing Make(const char* method, std::string url) const;
  Outgoing MakeWithJson(const char* method, std::string url, std::string json) const;

  OciUrls urls_;
  StoreOptions options_;
  DialectTraits traits_;
};

}  // namespace assay::storage
