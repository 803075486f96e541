#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/text.h"

namespace assay {
namespace {

// A link is written through, so that it goes on pointing where its owner meant.
std::string ResolveLink(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) {
    return path;
  }
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

std::string ParentFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Makes the rename itself durable. Some file systems cannot sync a folder; the file's own content is safe then.
void SyncFolderOf(const std::string& path) {
  const FileDescriptor folder = OpenFile(ParentFolder(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (folder.valid()) {
    ::fsync(folder.get());
  }
}

void Discard(const std::string& temporary, int& fd) {
  if (fd >= 0) {
    ::close(std::exchange(fd, -1));
    ::unlink(temporary.c_str());
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  Discard(temporary_, fd_);
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  const std::string target = ResolveLink(path);
  struct stat info;
  if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return S_ISDIR(info.st_mode)
               ? ErrnoStatus(EISDIR, "write", path)
               : Status::InvalidArgument("cannot write " + path + ": it is a device or a pipe (name a regular file)");
  }
  std::string temporary = target + ".tmp-" + RandomUid().substr(0, 12);
  const int fd =
      RetryOnSignal([&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  if (fd < 0) {
    return ErrnoStatus(errno, "write", path);
  }
  return AtomicFile(target, std::move(temporary), fd);
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  if (fd_ < 0) {
    return Status::Internal("cannot write " + path_ + ": an earlier write failed or the file is committed");
  }
  if (!WriteAll(fd_, bytes)) {
    const int error = errno;
    Discard(temporary_, fd_);
    return ErrnoStatus(error, "write", path_);
  }
  return Status::Ok();
}

Status AtomicFile::Write(std::string_view text) {
  return Write(std::as_bytes(std::span(text.data(), text.size())));
}

Status AtomicFile::Sync() {
  if (fd_ < 0) {
    return Status::Internal("cannot commit " + path_ + ": an earlier write failed or the file is committed");
  }
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    const int error = errno;
    Discard(temporary_, fd_);
    return ErrnoStatus(error, "write", path_);
  }
  return Status::Ok();
}

Status AtomicFile::Commit() {
  ASSAY_RETURN_IF_ERROR(Sync());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    Discard(temporary_, fd_);
    return ErrnoStatus(error, "write", path_);
  }
  ::close(std::exchange(fd_, -1));
  SyncFolderOf(path_);
  return Status::Ok();
}

}  // namespace assay
