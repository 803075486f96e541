// ObjectStore over Google Cloud Storage.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/gcs/gcs_dialect.h"
#include "storage/transfer/remote_store.h"

namespace assay::storage {

/// Etags are generations. Large objects travel as parallel parts (XML API); conditional ones that do not fit in one
/// request as a resumable upload, since parts take no condition; so do all where the endpoint knows no parts.
class GcsStore : public RemoteStore {
 public:
  GcsStore(std::unique_ptr<GcsDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options);

  Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) override;
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  /// By as many rewrite requests as the service wants.
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override;
  ServicePlace place() const override;
  /// From a bucket at the same address with the same options.
  Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                             const WriteOptions& options) override;
  /// In groups of 32 where there are more sources, through objects beside `to` that are removed again.
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override;
  /// A V4 signed URL.
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override;
  /// Those in parts; the service does not list resumable ones.
  Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) override;

 protected:
  bool TakesPartsOf(const std::string& key, const WriteOptions& options) override;

 private:
  /// Whether the endpoint knows uploads in parts: servers that stand in for the service may not. Tried once, by
  /// beginning one of `key`, where the endpoint is not the service's own.
  bool TakesParts(const std::string& key);
  /// `refused` is set where the service does not let us.
  Result<ObjectInfo> Rewrite(const std::string& bucket, const ObjectInfo& source, const std::string& to,
                             const WriteOptions& options, bool& refused);
  Result<ObjectInfo> ComposeOnce(std::span<const ObjectInfo> sources, const std::string& to,
                                 const WriteOptions& options);

  const GcsDialect& gcs_;
  std::mutex mutex_;
  std::optional<bool> takes_parts_;  // guarded by mutex_
};

}  // namespace assay::storage
