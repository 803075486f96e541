// ObjectStore over Amazon S3 and what speaks its language.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/s3/condition_probe.h"
#include "storage/s3/s3_dialect.h"
#include "storage/s3/s3_xml.h"
#include "storage/transfer/remote_store.h"

namespace assay::storage {

class S3Store : public RemoteStore {
 public:
  S3Store(std::unique_ptr<S3Dialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options);

  // Writes under a condition are refused before anything is sent where the store does not keep it.
  Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) override;
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) override;

  /// Many keys in a request, as far as they can be named there.
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override;
  /// By parts where the object is larger than one request may copy, or where such a request is not known to keep the
  /// condition.
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override;
  ServicePlace place() const override;
  /// From a bucket at the same address with the same options, up to what one request may copy.
  Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                             const WriteOptions& options) override;
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override;
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override;
  Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) override;

 protected:
  const S3Dialect& s3() const { return s3_; }
  /// Ok where the store keeps conditions like that of `options` on all of those ways, or there is none.
  Status KeepsCondition(std::initializer_list<Publishing> ways, const WriteOptions& options, const std::string& key);
  /// One request; `info` gets what became of it. A conditional one whose answer was lost and that then finds its own
  /// object has won.
  CallResult CopyOnce(const std::string& bucket, const ObjectInfo& source, const std::string& to,
                      const WriteOptions& options, ObjectInfo& info);

 protected:
  RemotePartWriter::MaySend MaySend(const std::string& key, const WriteOptions& options) override;

 private:
  Result<ObjectInfo> ComposeOf(std::span<const ObjectInfo> sources, const std::string& to, const WriteOptions& options);
  /// Many keys in a request. Nothing for those that are to be removed alone, for XML cannot name them.
  std::vector<std::optional<Status>> RemoveTogether(std::span<const std::string> keys, CancelFlag cancel);
  /// Each try names those that have no end yet.
  std::unique_ptr<StoreCall> RemoveCall(std::span<const std::string> keys, std::span<std::optional<Status>> ends);
  /// What the answer says of each key that was left; a failure where it speaks of others, or some are to be tried
  /// again.
  std::optional<Failure> TakeOutcomes(const http::Response& answer, std::span<const DeleteOutcome> outcomes,
                                      std::span<const std::string> keys, std::span<std::optional<Status>> ends) const;

  const S3Dialect& s3_;
  ConditionProbe probe_;
};

}  // namespace assay::storage
