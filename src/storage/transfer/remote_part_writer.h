// Parts of any order, sent as an upload in parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/memory_pool.h"
#include "storage/part_writer.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

class RemotePartWriter final : public PartWriter {
 public:
  /// Asked once it is known whether the object goes in parts, before anything is sent: an error ends the write.
  using MaySend = std::function<Status(bool in_parts)>;

  /// WriteOptions::expected is compared where it is of the store's own kind, or the object has one part.
  RemotePartWriter(const CallContext& context, std::string key, const WriteOptions& options,
                   MaySend may_send = nullptr);
  ~RemotePartWriter() override { Abort(); }

  int64_t PartOffset(int64_t index) const override;
  int64_t PartBytes(int64_t index) const override;
  Result<MutableBytes> Reserve(int64_t index) override;
  Status WritePart(int64_t index, int64_t filled) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  struct Filled {
    int64_t index = 0;
    int64_t bytes = 0;
    PooledMemory memory;
  };

  // Need mutex_.
  Status CheckIndex(int64_t index) const;
  /// That of a part among the others: each but the last is full.
  Status CheckBytes(int64_t index, int64_t filled) const;
  Status CheckComplete() const;
  Status Take(Filled part);
  /// The upload in parts, with its first one.
  Status BeginWith(Filled part);
  void Send(Filled part);
  Result<ObjectInfo> Publish();
  void Free();
  Status Refusal(const std::string& why) const;

  const CallContext context_;
  const std::string key_;
  const WriteOptions options_;
  const MaySend may_send_;
  std::mutex mutex_;
  Status broken_;                             ///< why nothing more can be written; guarded by mutex_
  std::map<int64_t, PooledMemory> reserved_;  ///< empty while its memory is waited for; guarded by mutex_
  std::map<int64_t, int64_t> written_;        ///< bytes by index; guarded by mutex_
  std::optional<Filled> first_;               ///< the only one, while none else is reserved; guarded by mutex_
  std::unique_ptr<MultipartUpload> upload_;   // guarded by mutex_
};

}  // namespace assay::storage
