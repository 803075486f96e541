// Objects as ordinary files below a root folder.
#pragma once

#include <sys/file.h>

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "storage/file/file_namespace.h"
#include "storage/file/mapped_object.h"
#include "storage/file/staged_file.h"
#include "storage/object_store.h"

namespace assay::storage {

class FolderWalk;

struct FileStoreOptions {
  std::string root;     ///< absolute; made by the first write where missing
  bool durable = true;  ///< files and folders are synced before a write or a removal is reported done
  int threads = 0;      ///< that move one large object or many small ones; 0: one a processor, at least 2, at most 8
  LockFolder lock = &::flock;  ///< a test's, for a file system without locks
};

/// Keys are paths (escaping: key_path.h). A write goes to a file outside the namespace (staged_file.h) that is synced
/// and then renamed, or linked for a conditional create: a crash leaves the old object or the new one. Etags, metadata
/// and checksums: object_attributes.h. Reads verify the recorded CRC32C where they cover the whole object. Pages of one
/// listing go on from where the page before stopped reading folders; keys made meanwhile may be missing from them.
/// Links: the root may be one or lie behind one; below it, links to files are objects and folders behind links are not
/// there (file_namespace.h).
class FileStore final : public ObjectStore {
 public:
  explicit FileStore(FileStoreOptions options);
  ~FileStore() override;

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

  const FileStore* as_files() const override { return this; }
  /// The object's bytes where they lie. NotFound when there is no such object.
  Result<MappedObject> Map(const std::string& key) const;
  /// A write of `size` bytes that `fill` puts where they will lie, into the mapped memory or the file itself; it
  /// returns what it knows of their checksum. The space is taken first, so a full disk is an error before anything is
  /// fetched.
  using Fill = std::function<Result<std::optional<Checksum>>(MutableBytes memory, int file)>;
  Result<ObjectInfo> WriteInPlace(const std::string& key, int64_t size, const WriteOptions& options,
                                  const Fill& fill) const;
  /// Likewise, in the unfinished file `id` (staged_file.h), which keeps what was filled when `fill` fails with kIo or
  /// the program ends: the next call finds it in its memory. One call at a time for an id.
  Result<ObjectInfo> WriteInPlaceAgain(const std::string& key, int64_t size, const std::string& id,
                                       const WriteOptions& options, const Fill& fill) const;
  /// A file for notes on what the unfinished file `id` holds.
  Result<StagedNotes> OpenNotes(const std::string& id) const { return OpenStagedNotes(options_.root, id); }

 private:
  class Writer;
  struct OpenObject {
    FileDescriptor fd;
    ObjectInfo info;
  };

  /// The object to read, or why it cannot be: missing, or not of the etag asked for.
  Result<OpenObject> Open(std::string_view verb, const std::string& key, const std::string& if_match) const;
  Result<ObjectInfo> ReadFrom(OpenObject object, std::span<const ReadPiece> pieces, const ReadOptions& options) const;
  Result<ObjectInfo> WriteWith(const std::string& key, std::span<const Bytes> buffers, const WriteOptions& options,
                               int threads) const;
  Result<ObjectInfo> FillAndFinish(StagedFile& staged, const std::string& key, int64_t size,
                                   const WriteOptions& options, const Fill& fill) const;
  /// An upload for `key`, whose condition can be held to.
  Result<StagedFile> Stage(const std::string& key, const WriteOptions& options) const;
  Status CheckStaging(const std::string& key, const WriteOptions& options) const;
  /// Records the attributes of a staged file that is written to its end, syncs and publishes it.
  Result<ObjectInfo> Finish(StagedFile& staged, const std::string& key, std::optional<Checksum> checksum,
                            const WriteOptions& options) const;
  Result<ObjectInfo> Lost(const std::string& key, const ObjectInfo& ours, const WriteOptions& options) const;
  Result<ObjectInfo> Concatenate(std::span<const OpenObject> sources, const std::string& to,
                                 const WriteOptions& options) const;

  const FileStoreOptions options_;
  const FileNamespace names_;
  std::mutex mutex_;
  /// Walks that stopped at the end of a page, by the token of the next; the latest first. Guarded by mutex_.
  std::list<std::pair<std::string, std::unique_ptr<FolderWalk>>> walks_;
};

}  // namespace assay::storage
