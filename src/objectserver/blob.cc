#include "objectserver/blob.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

namespace assay::objectserver {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;
constexpr size_t kCacheLineBytes = 64;
constexpr size_t kMinPooledBytes = 1 << 20;
// Of what is pooled: few capacities, so that most is used again.
constexpr size_t kPooledMultipleBytes = 256 << 10;
constexpr size_t kReadBytes = 256 << 10;

size_t CapacityOf(size_t size) {
  const size_t alignment = size >= kHugePageBytes    ? kHugePageBytes
                           : size >= kMinPooledBytes ? kPooledMultipleBytes
                                                     : kCacheLineBytes;
  return (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
}

}  // namespace

Buffer::Buffer(size_t size) : size_(size), capacity_(CapacityOf(size)) {
  data_ =
      static_cast<std::byte*>(std::aligned_alloc(size >= kHugePageBytes ? kHugePageBytes : kCacheLineBytes, capacity_));
  if (data_ == nullptr) {
    throw std::bad_alloc();
  }
  if (size >= kHugePageBytes) {
    ::madvise(data_, capacity_, MADV_HUGEPAGE);
  }
}

Buffer::~Buffer() {
  std::free(data_);
}

std::shared_ptr<Buffer> BufferPool::Take(size_t size) {
  if (size < kMinPooledBytes) {
    return std::make_shared<Buffer>(size);
  }
  std::unique_ptr<Buffer> buffer;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(CapacityOf(size)); found != kept_.end()) {
      buffer = std::move(found->second);
      kept_bytes_ -= buffer->capacity();
      kept_.erase(found);
    }
  }
  if (!buffer) {
    buffer = std::make_unique<Buffer>(size);
  }
  buffer->Resize(size);
  return {buffer.release(), [pool = weak_from_this()](Buffer* unused) {
            std::unique_ptr<Buffer> owned(unused);
            if (const std::shared_ptr<BufferPool> there = pool.lock()) {
              there->Return(std::move(owned));
            }
          }};
}

void BufferPool::Return(std::unique_ptr<Buffer> buffer) {
  const std::lock_guard lock(mutex_);
  if (buffer->capacity() > max_kept_bytes_) {
    return;
  }
  while (kept_bytes_ + buffer->capacity() > max_kept_bytes_) {  // the new one is the likelier to be asked for
    kept_bytes_ -= kept_.begin()->first;
    kept_.erase(kept_.begin());
  }
  kept_bytes_ += buffer->capacity();
  const size_t capacity = buffer->capacity();
  kept_.emplace(capacity, std::move(buffer));
}

DataFile::DataFile(std::shared_ptr<const DataFolder> folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)) {}

DataFile::~DataFile() {
  if (!folder_->keeps_files) {
    ::unlink(path().c_str());
  }
}

std::shared_ptr<const FileDescriptor> DataFile::Open() const {
  const std::lock_guard lock(mutex_);
  if (auto open = open_.lock()) {
    return open;
  }
  auto file = std::make_shared<const FileDescriptor>(OpenFile(path().c_str(), O_RDONLY));
  if (!file->valid()) {
    return nullptr;
  }
  open_ = file;
  return file;
}

Blob::Blob(std::vector<BlobSegment> segments) : segments_(std::move(segments)) {
  for (const BlobSegment& segment : segments_) {
    size_ += segment.length;
  }
}

Blob Blob::Slice(int64_t offset, int64_t length) const {
  std::vector<BlobSegment> segments;
  for (const BlobSegment& segment : segments_) {
    const int64_t skipped = std::min(offset, segment.length);
    const int64_t taken = std::min(length, segment.length - skipped);
    if (taken > 0) {
      segments.push_back({segment.memory, segment.file, segment.offset + skipped, taken});
    }
    offset -= skipped;
    length -= taken;
  }
  return Blob(std::move(segments));
}

void Blob::Append(const Blob& other) {
  segments_.insert(segments_.end(), other.segments_.begin(), other.segments_.end());
  size_ += other.size_;
}

Result<std::vector<http::BodyPiece>> Blob::Pieces(int64_t offset, int64_t length) const {
  std::vector<http::BodyPiece> pieces;
  for (const BlobSegment& segment : Slice(offset, length).segments_) {
    if (segment.memory) {
      const auto bytes = segment.memory->bytes().subspan(segment.offset, segment.length);
      pieces.push_back(http::BodyPiece::Memory(segment.memory, bytes));
      continue;
    }
    auto file = segment.file->Open();
    if (!file) {
      return ErrnoStatus(errno, "open", segment.file->path());
    }
    pieces.push_back(http::BodyPiece::File(std::move(file), segment.offset, segment.length));
  }
  return pieces;
}

Status Blob::ForEachPiece(const std::function<void(std::span<const std::byte>)>& visit) const {
  ASSAY_ASSIGN_OR_RETURN(std::vector<http::BodyPiece> pieces, Pieces(0, size_));
  std::vector<std::byte> buffer;
  for (http::BodyPiece& piece : pieces) {
    while (piece.size() > 0) {
      std::span<const std::byte> bytes = piece.bytes.first(std::min(piece.bytes.size(), kReadBytes));
      if (piece.file) {
        buffer.resize(kReadBytes);
        const auto most = static_cast<size_t>(std::min<int64_t>(piece.size(), kReadBytes));
        const ssize_t got =
            RetryOnSignal([&] { return ::pread(piece.file->get(), buffer.data(), most, piece.offset); });
        if (got <= 0) {
          return ErrnoStatus(got < 0 ? errno : EIO, "read", "content of an object");
        }
        bytes = std::span(buffer).first(static_cast<size_t>(got));
      }
      visit(bytes);
      piece.RemovePrefix(static_cast<int64_t>(bytes.size()));
    }
  }
  return Status::Ok();
}

}  // namespace assay::objectserver
