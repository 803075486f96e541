#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/sync_folder.h"
#include "base/text.h"
#include "objectserver/blob.h"

namespace assay::objectserver {
namespace {

// Of content without a known size; and what longer content is cut into, so that its memory serves objects and parts of
// any size afterwards.
constexpr int64_t kSegmentBytes = 1 << 20;
constexpr int64_t kMaxSegmentBytes = 2 << 20;
constexpr size_t kFileBufferBytes = 512 << 10;

/// Segments of the expected size together, or as many of a megabyte as it takes.
class MemoryWriter : public BlobWriter {
 public:
  MemoryWriter(std::shared_ptr<BufferPool> pool, std::optional<int64_t> expected_bytes)
      : pool_(std::move(pool)), expected_bytes_(expected_bytes) {}

  std::span<std::byte> Memory(size_t most) override {
    if (!buffer_ || used_ == buffer_->bytes().size()) {
      Flush();
      const int64_t left = expected_bytes_.value_or(0) - flushed_;
      buffer_ = TakeBuffer(static_cast<size_t>(left > 0 ? std::min(left, kMaxSegmentBytes) : kSegmentBytes));
      if (!buffer_) {
        return {};
      }
    }
    const std::span<std::byte> rest = buffer_->bytes().subspan(used_);
    return rest.first(std::min(rest.size(), most));
  }

  Status Received(size_t count) override {
    used_ += count;
    return Status::Ok();
  }

  Result<Blob> Finish() override {
    if (missing_bytes_ > 0) {
      return Status::OutOfMemory("cannot hold an object in memory: " + std::to_string(missing_bytes_) +
                                 " more bytes are not to be had (delete objects, or serve a folder)");
    }
    Flush();
    return Blob(std::move(segments_));
  }

 private:
  std::shared_ptr<Buffer> TakeBuffer(size_t size) {
    try {
      return pool_->Take(size);
    } catch (const std::bad_alloc&) {
      missing_bytes_ = size;
      return nullptr;
    }
  }

  void Flush() {
    if (buffer_ && used_ > 0) {
      segments_.push_back({std::move(buffer_), nullptr, 0, static_cast<int64_t>(used_)});
      flushed_ += static_cast<int64_t>(used_);
    }
    buffer_.reset();
    used_ = 0;
  }

  const std::shared_ptr<BufferPool> pool_;
  const std::optional<int64_t> expected_bytes_;
  std::shared_ptr<Buffer> buffer_;
  size_t used_ = 0;
  size_t missing_bytes_ = 0;
  int64_t flushed_ = 0;
  std::vector<BlobSegment> segments_;
};

/// A file of its own name from the beginning: until a record names it, it is junk that recovery removes.
class FileWriter : public BlobWriter {
 public:
  FileWriter(std::shared_ptr<const DataFile> file, FileDescriptor fd, std::string folder)
      : file_(std::move(file)), fd_(std::move(fd)), folder_(std::move(folder)) {}

  std::span<std::byte> Memory(size_t most) override {
    if (!buffer_) {
      buffer_ = std::make_unique<Buffer>(kFileBufferBytes);
    }
    const std::span<std::byte> rest = buffer_->bytes().subspan(used_);
    return rest.first(std::min(rest.size(), most));
  }

  Status Received(size_t count) override {
    used_ += count;
    return used_ == kFileBufferBytes ? Flush() : Status::Ok();
  }

  Result<Blob> Finish() override {
    ASSAY_RETURN_IF_ERROR(Flush());
    if (::fsync(fd_.get()) != 0) {
      return ErrnoStatus(errno, "sync", file_->path());
    }
    ASSAY_RETURN_IF_ERROR(SyncFolder(folder_));
    return Blob({{nullptr, std::move(file_), 0, size_}});
  }

 private:
  Status Flush() {
    if (used_ > 0 && !WriteAll(fd_.get(), buffer_->bytes().first(used_))) {
      return ErrnoStatus(errno, "write", file_->path());
    }
    size_ += static_cast<int64_t>(used_);
    used_ = 0;
    return Status::Ok();
  }

  std::shared_ptr<const DataFile> file_;
  FileDescriptor fd_;
  const std::string folder_;
  std::unique_ptr<Buffer> buffer_;
  size_t used_ = 0;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<BlobWriter> NewMemoryWriter(std::shared_ptr<BufferPool> pool, std::optional<int64_t> expected_bytes) {
  return std::make_unique<MemoryWriter>(std::move(pool), expected_bytes);
}

Result<std::unique_ptr<BlobWriter>> NewFileWriter(std::shared_ptr<const DataFolder> folder) {
  auto file = std::make_shared<const DataFile>(folder, RandomUid());
  FileDescriptor fd = OpenFile(file->path().c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "create", file->path());
  }
  return std::unique_ptr<BlobWriter>(std::make_unique<FileWriter>(std::move(file), std::move(fd), folder->path));
}

}  // namespace assay::objectserver
