// The requests of Amazon S3's REST interface, and its answers.
#pragma once

#include <string>

#include "storage/options.h"
#include "storage/s3/s3_address.h"
#include "storage/s3/s3_kind.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

class S3Dialect : public Dialect {
 public:
  S3Dialect(const S3Address& address, std::string region, const StoreOptions& options);

  std::string Uri(std::string_view key) const override;
  const DialectTraits& traits() const override { return traits_; }
  std::string WriteTerms() const override { return own_.encryption; }
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
  bool ListProves(const UploadedPart& part) const override { return part.checksum.has_value(); }
  Outgoing List(const ListOptions& options) const override;
  Read<ListPage> ReadList(const http::Response& answer) const override;
  Outgoing Remove(const std::string& key) const override;
  Result<Outgoing> MakeBucket() const override;
  Outgoing RemoveBucket() const override;

  // Beyond what all stores have.

  /// Of an object in `from_bucket`, of that etag. Metadata of the source where `options` names none.
  virtual Outgoing Copy(const std::string& from_bucket, const std::string& from, const std::string& from_etag,
                        const std::string& to, const WriteOptions& options) const;
  /// `length` bytes of `from` become a part.
  Outgoing CopyPart(const std::string& from, const std::string& from_etag, int64_t offset, int64_t length,
                    const std::string& to, const std::string& upload_id, int number) const;
  /// Of Copy() and CopyPart(): etag and checksum.
  virtual Read<ObjectInfo> ReadCopy(const http::Response& answer) const;
  Outgoing RemoveBatch(std::span<const std::string> keys) const;
  Outgoing ListUploads(const std::string& prefix, const std::string& key_marker, const std::string& id_marker) const;
  const S3Address& address() const { return address_; }
  const std::string& region() const { return region_; }

 protected:
  /// For a dialect that differs in its headers.
  S3Dialect(S3Address address, std::string region, const StoreOptions& options, DialectTraits traits);

  virtual Outgoing Make(const char* method, std::string url) const;
  Outgoing MakeWithText(const char* method, std::string url, std::string text) const;
  /// Content type, metadata, storage class and encryption of a new object.
  virtual void AddNewObjectHeaders(http::Headers& headers, const WriteOptions& options, const std::string& token) const;
  /// The query that names a part of an upload.
  static std::string PartQuery(const std::string& upload_id, int number);
  const StoreOptions& options() const { return options_; }

 private:
  void AddChecksum(Outgoing& outgoing, ChecksumSource& body) const;

  S3Address address_;
  std::string region_;
  StoreOptions options_;
  S3Options own_;
  DialectTraits traits_;
};

/// The checksum in an answer's headers; nothing where it is one of parts' checksums.
std::optional<Checksum> S3HeaderChecksum(const http::Response& answer);

}  // namespace assay::storage
