#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file_descriptor.h"
#include "base/files.h"

namespace assay {

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const FileDescriptor fd = OpenFile(path.c_str(), O_RDONLY | O_NONBLOCK);  // a pipe without a writer would hold us
  if (!fd.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, "read", path);
  }
  if (S_ISDIR(info.st_mode)) {
    return ErrnoStatus(EISDIR, "map", path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::InvalidArgument(
        "cannot map " + path + ": it is a pipe or a device, which gives its bytes once (write them to a file first)");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {  // an empty range cannot be mapped
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) {
      return ErrnoStatus(errno, "map", path);
    }
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

}  // namespace assay
