// The requests of Google Cloud Storage and its answers: the JSON API, and the XML API for uploads in parallel parts.
// Sources: the Cloud Storage JSON API reference v1; "XML API multipart uploads" of the Cloud Storage documentation.
#pragma once

#include <string>

#include "storage/gcs/gcs_urls.h"
#include "storage/options.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

/// Etags are generations. Uploads in parts take no condition: GcsStore writes conditional ones another way.
class GcsDialect : public Dialect {
 public:
  GcsDialect(GcsUrls urls, const StoreOptions& options);

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
  Outgoing List(const ListOptions& options) const override;
  Read<ListPage> ReadList(const http::Response& answer) const override;
  Outgoing Remove(const std::string& key) const override;
  Result<Outgoing> MakeBucket() const override;
  Outgoing RemoveBucket() const override;

  // Beyond what all stores have.

  /// `from`: an object in `from_bucket`; `resource`: of the new object; empty: as the source's. `rewrite_token`: of the
  /// answer before.
  Outgoing Rewrite(const std::string& from_bucket, const ObjectInfo& from, const std::string& to,
                   const WriteCondition& condition, const std::string& resource,
                   const std::string& rewrite_token) const;
  /// At most 32 sources.
  Outgoing Compose(std::span<const ObjectInfo> sources, const std::string& to, const WriteOptions& options) const;
  Outgoing ListUploads(const std::string& prefix, const std::string& key_marker, const std::string& id_marker) const;
  /// Begins a resumable upload; the answer's Location is its session.
  Outgoing BeginResumable(const std::string& key, const WriteOptions& options, const std::string& token) const;
  const GcsUrls& urls() const { return urls_; }
  const StoreOptions& options() const { return options_; }

 private:
  Outgoing Make(const char* method, QueryBuilder url) const;
  Outgoing MakeWithJson(const char* method, QueryBuilder url, std::string json) const;

  GcsUrls urls_;
  StoreOptions options_;
  DialectTraits traits_;
};

}  // namespace assay::storage
