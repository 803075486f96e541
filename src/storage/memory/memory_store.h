// Objects in the memory of this process: for tests, and the ceiling that other stores are measured beside.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "storage/object_store.h"

namespace assay::storage {

/// Objects are immutable once published; a read copies them out without a lock. Etags are numbers that are never used
/// twice. Content that is in memory is not verified again by reads.
class MemoryStore final : public ObjectStore {
 public:
  /// `name` is what Uri() calls it: "mem://name/key".
  explicit MemoryStore(std::string name);

  std::string Uri(std::string_view key) const override;
  Capabilities capabilities() const override;
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
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override;
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override;
  Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) override;
  Status AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel = nullptr) override;

  struct Object;

 private:
  class Writer;
  class Cursor;

  std::shared_ptr<const Object> Find(const std::string& key) const;
  /// The object to read, or why it cannot be: missing, or not of the etag asked for.
  Result<std::shared_ptr<const Object>> Open(std::string_view verb, const std::string& key,
                                             const std::string& if_match) const;
  /// Copies `buffers` into a new object and puts it under its key when the condition holds.
  Result<ObjectInfo> Publish(const std::string& key, std::span<const Bytes> buffers, const WriteOptions& options);
  Result<ObjectInfo> PutUnderKey(std::shared_ptr<Object> object, const WriteOptions& options);
  bool EndUpload(const std::string& upload_id);

  const std::string name_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<const Object>> objects_;  // guarded by mutex_
  std::map<std::string, UnfinishedUpload> uploads_;               // guarded by mutex_
  std::atomic<uint64_t> last_etag_{0};
};

}  // namespace assay::storage
