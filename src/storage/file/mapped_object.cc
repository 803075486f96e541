#include "storage/file/mapped_object.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "storage/file/object_attributes.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr int64_t kCopiedBytes = int64_t{64} << 10;

}  // namespace

Result<FileMapping> FileMapping::Make(int fd, int64_t bytes, Access access, const std::string& uri) {
  if (bytes == 0) {  // an empty range cannot be mapped
    return FileMapping(MutableBytes());
  }
  if (access == Access::kRead && bytes <= kCopiedBytes) {
    return Copy(fd, bytes, uri);
  }
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return ErrnoStatus(errno, "map", uri);
  }
  const MutableBytes mapped(static_cast<std::byte*>(memory), static_cast<size_t>(bytes));
  return access == Access::kRead ? FileMapping(mapped, TruncationGuard(mapped)) : FileMapping(mapped);
}

Result<FileMapping> FileMapping::Copy(int fd, int64_t bytes, const std::string& uri) {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  const MutableBytes memory(copy.get(), static_cast<size_t>(bytes));
  size_t filled = 0;
  ssize_t got = 1;
  while (filled < memory.size() && got != 0) {
    got = RetryOnSignal(
        [&] { return ::pread(fd, memory.data() + filled, memory.size() - filled, static_cast<off_t>(filled)); });
    if (got < 0) {
      return ErrnoStatus(errno, "read", uri);
    }
    filled += static_cast<size_t>(got);
  }
  std::ranges::fill(memory.subspan(filled), std::byte{0});
  FileMapping made(memory);
  made.copy_ = std::move(copy);
  return made;
}

FileMapping::~FileMapping() {
  guard_.reset();
  if (!memory_.empty() && !copy_) {
    ::munmap(memory_.data(), memory_.size());
  }
}

Status MappedObject::CheckUnchanged() const {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) {
    return ErrnoStatus(errno, "read", uri_);
  }
  return EtagOf(status) == info_.etag ? Status::Ok() : ChangedObjectStatus(uri_, info_.etag, EtagOf(status));
}

}  // namespace assay::storage
