#include "base/sync_folder.h"

#include <cerrno>

#include "base/file_descriptor.h"

namespace assay {

Status SyncFolder(const std::string& folder) {
  const FileDescriptor fd = OpenFile(folder.c_str(), O_RDONLY | O_DIRECTORY);
  return fd.valid() ? SyncFolder(fd.get(), folder) : ErrnoStatus(errno, "sync folder", folder);
}

Status SyncFolder(int fd, const std::string& name) {
  return ::fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? Status::Ok() : ErrnoStatus(errno, "sync folder", name);
}

}  // namespace assay
