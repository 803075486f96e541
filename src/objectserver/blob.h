// The bytes of objects: immutable, shared, in memory or in files, and never copied once they are here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "http/server_response.h"

namespace assay::objectserver {

/// Memory for content, not initialised; large ones stand on huge pages.
class Buffer {
 public:
  explicit Buffer(size_t size);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  std::span<std::byte> bytes() const { return {data_, size_}; }
  size_t capacity() const { return capacity_; }
  /// Gives it another size of at most its capacity.
  void Resize(size_t size) { size_ = size; }

 private:
  std::byte* data_;
  size_t size_;
  size_t capacity_;
};

/// Keeps large buffers that are no longer used, up to a bound, for the next of the same capacity: memory that is given
/// back and asked for again is zeroed by the kernel page by page, which costs as much as receiving the content.
/// Thread-safe; buffers may outlive it.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(size_t max_kept_bytes) : max_kept_bytes_(max_kept_bytes) {}
  std::shared_ptr<Buffer> Take(size_t size);

 private:
  void Return(std::unique_ptr<Buffer> buffer);

  const size_t max_kept_bytes_;
  std::mutex mutex_;
  size_t kept_bytes_ = 0;
  std::multimap<size_t, std::unique_ptr<Buffer>> kept_;  ///< by capacity
};

/// The folder that holds the content of a store on disk, one file a written piece, under names that are never reused.
struct DataFolder {
  explicit DataFolder(std::string folder) : path(std::move(folder)) {}
  const std::string path;
  /// While the store opens and once it closes: files whose last reference goes then stay.
  std::atomic<bool> keeps_files = true;
};

/// One immutable file of content; removed with its last reference, unless the store opens or closes.
class DataFile {
 public:
  DataFile(std::shared_ptr<const DataFolder> folder, std::string name);
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  ~DataFile();

  const std::string& name() const { return name_; }
  std::string path() const { return folder_->path + '/' + name_; }
  /// The open file, opened when first asked for and again after nobody held it. Null when it cannot be opened.
  std::shared_ptr<const FileDescriptor> Open() const;

 private:
  const std::shared_ptr<const DataFolder> folder_;
  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const FileDescriptor> open_;
};

/// A range of a buffer or of a file.
struct BlobSegment {
  std::shared_ptr<const Buffer> memory;
  std::shared_ptr<const DataFile> file;
  int64_t offset = 0;
  int64_t length = 0;
};

/// A sequence of segments. A cheap value.
class Blob {
 public:
  Blob() = default;
  explicit Blob(std::vector<BlobSegment> segments);

  int64_t size() const { return size_; }
  const std::vector<BlobSegment>& segments() const { return segments_; }
  Blob Slice(int64_t offset, int64_t length) const;
  void Append(const Blob& other);

  /// What to send for a range. Fails when a file cannot be opened.
  Result<std::vector<http::BodyPiece>> Pieces(int64_t offset, int64_t length) const;
  /// Calls `visit` with the content, in order and in pieces.
  Status ForEachPiece(const std::function<void(std::span<const std::byte>)>& visit) const;

 private:
  std::vector<BlobSegment> segments_;
  int64_t size_ = 0;
};

/// Takes content that comes piece by piece. Belongs to one thread; what is not finished leaves nothing behind.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  /// Memory for the next 1 to `most` bytes.
  virtual std::span<std::byte> Memory(size_t most) = 0;
  /// The first `count` bytes of it are content.
  virtual Status Received(size_t count) = 0;
  /// The content, durable where the store is.
  virtual Result<Blob> Finish() = 0;
};

/// `expected_bytes` is the size where it is known.
std::unique_ptr<BlobWriter> NewMemoryWriter(std::shared_ptr<BufferPool> pool, std::optional<int64_t> expected_bytes);
Result<std::unique_ptr<BlobWriter>> NewFileWriter(std::shared_ptr<const DataFolder> folder);

}  // namespace assay::objectserver
