#include "storage/web/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/file_descriptor.h"

namespace assay::storage {

Result<std::shared_ptr<WholeFile>> WholeFile::Make(int64_t size, const std::string& uri) {
  auto file = std::make_shared<WholeFile>();
  if (size == 0) {
    return file;
  }
  const char* variable = std::getenv("TMPDIR");
  const std::string folder = variable != nullptr && *variable != '\0' ? variable : "/tmp";
  const std::string tried = fmt::format("keep {} ({} bytes, which its server gives only as a whole) in", uri, size);
  const FileDescriptor fd = OpenFile(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (!fd.valid()) {
    return ErrnoStatus(errno, tried, folder);
  }
  if (const int error = ::posix_fallocate(fd.get(), 0, size); error != 0) {
    return ErrnoStatus(error, tried, folder);
  }
  ASSAY_ASSIGN_OR_RETURN(FileMapping mapping, FileMapping::Make(fd.get(), size, FileMapping::Access::kWrite, uri));
  file->mapping_.emplace(std::move(mapping));
  return file;
}

}  // namespace assay::storage
