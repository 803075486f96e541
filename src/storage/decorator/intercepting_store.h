// Decorators that do the same before and after every operation of a store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/decorator/forwarding_store.h"

namespace assay::storage {

/// One operation as an interceptor sees it. Valid during the call.
struct StoreOperation {
  /// "stat", "read", "read_whole", "read_many", "write", "open_writer", "commit", "abort", "write_many", "list",
  /// "remove", "remove_many", "copy", "compose", "presign", "list_uploads", "abort_upload"
  std::string_view name;
  std::string_view key;                 ///< of a listing: the prefix; of many: the first
  std::string_view from{};              ///< of a copy
  int64_t count = 1;                    ///< objects, pieces of a read, or entries of a page once that is there
  int64_t bytes = 0;                    ///< asked for or given; of read_whole and copies known only afterwards
  bool reads = false;                   ///< bytes come
  bool writes = false;                  ///< bytes go
  std::span<const ReadPiece> pieces{};  ///< of a read; their memory is filled when it has succeeded
};

/// Before() and After() may be called from any thread, those of one operation from the same one.
class InterceptingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override;
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                          const ReadOptions& options) override;
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) override;
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override;
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                           const WriteOptions& options) override;
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) override;
  Result<ListPage> List(const ListOptions& options) override;
  Status Remove(const std::string& key) override;
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override;
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override;
  /// A "copy" of the store that is copied to; nothing where no service can make it.
  Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                             const WriteOptions& options) override;
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override;
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override;
  Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) override;
  Status AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel = nullptr) override;
  /// An "abort_upload" too.
  bool GiveUpUpload(const std::string& key, const std::string& upload_id) override;

 protected:
  /// An error ends the operation before it has begun; After() is called all the same.
  virtual Status Before(const StoreOperation& operation) { return Status::Ok(); }
  /// What the caller is told in place of `status`. An error in place of success drops the result.
  virtual Status After(const StoreOperation& operation, Status status) { return status; }

 private:
  class Writer;
  template <typename Call>
  auto Intercept(StoreOperation& operation, const Call& call) -> decltype(call());
  template <typename Call>
  std::vector<Status> InterceptMany(StoreOperation& operation, size_t count, const Call& call);
};

}  // namespace assay::storage
