#include "cli/append_file.h"

#include <cerrno>
#include <span>

namespace assay::cli {

Result<AppendFile> AppendFile::Open(const std::string& path) {
  FileDescriptor file = OpenFile(path.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  if (!file.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  return AppendFile(std::move(file), path);
}

Status AppendFile::Append(std::string_view text) {
  return WriteAll(file_.get(), std::as_bytes(std::span(text))) ? Status::Ok() : ErrnoStatus(errno, "write", path_);
}

}  // namespace assay::cli
