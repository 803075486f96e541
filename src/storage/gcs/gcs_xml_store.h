// ObjectStore over the XML API of Google Cloud Storage: what HMAC keys can be used with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/gcs/gcs_xml_dialect.h"
#include "storage/s3/s3_store.h"

namespace assay::storage {

class GcsXmlStore : public S3Store {
 public:
  GcsXmlStore(std::unique_ptr<GcsXmlDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options);

  /// Under a condition in one request, of up to 5 GiB: uploads in parts take none.
  Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) override;
  /// Under a condition gathered within the memory budget.
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  /// One by one, many at a time.
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override;
  /// In one request, whatever the size.
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override;
  /// In groups of 32 where there are more sources, through objects beside `to` that are removed again.
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override;

 protected:
  bool TakesPartsOf(const std::string&, const WriteOptions& options) override {
    return options.condition.kind == WriteCondition::Kind::kNone;
  }

 private:
  Result<ObjectInfo> ComposeOnce(std::span<const ObjectInfo> sources, const std::string& to,
                                 const WriteOptions& options);

  const GcsXmlDialect& xml_;
};

}  // namespace assay::storage
