#include "storage/file/mapped_object.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "storage/file/object_attributes.h"
#include "storage/store_checks.h"

namespace assay::storage {

Result<FileMapping> FileMapping::Make(int fd, int64_t bytes, Access access, const std::string& uri) {
  if (bytes == 0) {  // an empty range cannot be mapped
    return FileMapping(MutableBytes());
  }
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return ErrnoStatus(errno, "map", uri);
  }
  const MutableBytes mapped(static_cast<std::byte*>(memory), static_cast<size_t>(bytes));
  return access == Access::kRead ? FileMapping(mapped, TruncationGuard(mapped)) : FileMapping(mapped);
}

FileMapping::~FileMapping() {
  guard_.reset();
  if (!memory_.empty()) {
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
