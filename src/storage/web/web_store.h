// Files of web servers as a store: what is often all there is of a data set or of weights is a URL.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/transfer/remote_reader.h"
#include "storage/web/key_turns.h"
#include "storage/web/web_dialect.h"
#include "storage/web/whole_file.h"

namespace assay::storage {

/// Reads only, and lists nothing: web servers tell of files by name. Etags are the servers'; where one names none, they
/// are made of the time of the last change, else of the size. What a server does not give in ranges is fetched in one
/// request; reads of pieces of it are then served from a file without a name in $TMPDIR, that of the last such object.
class WebStore final : public RemoteReader {
 public:
  /// Folders as WebFolderUrl() writes them: the first, and others that hold the same.
  WebStore(std::vector<std::string> folders, StoreOptions options);

  Task<Result<ObjectInfo>> ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                     const ReadOptions& options) override;
  Task<Result<ObjectInfo>> ReadWholeAsync(const std::string& key,
                                          const std::function<MutableBytes(int64_t size)>& allocate,
                                          const ReadOptions& options) override;
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override;

  // All of these are refused.
  Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) override;
  Result<std::unique_ptr<PartWriter>> OpenParts(const std::string& key, const WriteOptions& options) override;
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

 protected:
  Task<Result<std::optional<ObjectInfo>>> StatAsync(const std::string& key, CancelFlag cancel) override;

 private:
  /// By a GET of one byte, where HEAD is refused or does not tell the size.
  Task<CallResult> Probe(const std::string& key, CancelFlag cancel, ObjectInfo& info);
  /// All of it in one request.
  Task<Result<ObjectInfo>> ReadInOne(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                                     const ReadOptions& options);
  /// Of the version that `options` name, or of that which stands now.
  Task<Result<std::shared_ptr<const WholeFile>>> FetchWhole(const std::string& key, const ReadOptions& options);
  Status Refuse(std::string_view verb, std::string_view key) const;

  const WebDialect& web_;
  KeyTurns fetches_;
  std::mutex mutex_;
  std::shared_ptr<const WholeFile> last_;  // guarded by mutex_
};

}  // namespace assay::storage
