// ObjectStore over Oracle Cloud Infrastructure's Object Storage.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/oci/oci_dialect.h"
#include "storage/transfer/remote_store.h"

namespace assay::storage {

class OciStore : public RemoteStore {
 public:
  /// `region`: of the bucket, for copies within the service; empty: copies pass through here.
  OciStore(std::unique_ptr<OciDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options,
           std::string region);

  /// Through a pre-authenticated request, which takes objects whole, gathered within the memory budget.
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  /// Within the service, which takes its time and needs a policy that lets it. Without that, with another content type
  /// or where the region is not known the bytes pass through here, within the memory budget.
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override;
  ServicePlace place() const override;
  /// From a bucket of the same namespace and region with the same options.
  Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                             const WriteOptions& options) override;
  /// The service cannot compose: the bytes pass through here, within the memory budget.
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override;
  /// A pre-authenticated request: the service keeps it until it expires, and its URL is the proof.
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override;
  Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) override;

 protected:
  /// A pre-authenticated request lets objects be written whole only.
  bool TakesPartsOf(const std::string&, const WriteOptions&) override { return !oci_.urls().preauthenticated(); }

 private:
  /// From bucket `from` of the same namespace. Nothing where the service does not do it.
  Result<std::optional<ObjectInfo>> CopyWithin(const std::string& from, const ObjectInfo& source, const std::string& to,
                                               const WriteOptions& options);
  Status WaitForCopy(const std::string& work_request, const std::string& to, CancelFlag cancel);
  Result<ObjectInfo> CopyThrough(std::span<const ObjectInfo> sources, const std::string& to,
                                 const WriteOptions& options);
  Status Pour(const ObjectInfo& source, ObjectWriter& writer, std::span<std::byte> buffer, CancelFlag cancel);

  const OciDialect& oci_;
  const std::string region_;
};

}  // namespace assay::storage
