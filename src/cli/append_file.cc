#include "cli/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace assay::cli {

Result<AppendFile> AppendFile::Open(const std::string& path) {
  constexpr mode_t kForAll = 0666;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kForAll);
  if (fd < 0) {
    return ErrnoStatus(errno, "open", path);
  }
  return AppendFile(fd, path);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

AppendFile::~AppendFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Status AppendFile::Append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "write", path_);
    }
    text.remove_prefix(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return Status::Ok();
}

}  // namespace assay::cli
