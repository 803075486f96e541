#include "base/files.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace assay {

bool FileExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

namespace {

// Reads to the end whatever the size says: the files of /proc claim to be empty.
Status ReadToEnd(int fd, const std::string& path, std::string& content) {
  constexpr size_t kBlock = 64 << 10;
  size_t used = 0;
  while (true) {
    if (content.size() - used < kBlock) {
      content.resize(used + std::max(kBlock, used / 2));
    }
    const ssize_t n = RetryOnSignal([&] { return ::read(fd, content.data() + used, content.size() - used); });
    if (n < 0) {
      return ErrnoStatus(errno, "read", path);
    }
    if (n == 0) {
      content.resize(used);
      return Status::Ok();
    }
    used += static_cast<size_t>(n);
  }
}

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  const FileDescriptor fd = OpenFile(path.c_str(), O_RDONLY);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  struct stat info;
  std::string content;
  if (::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    // One byte more than a block lets the read that finds the end fit without growing.
    content.resize(static_cast<size_t>(info.st_size) + (64 << 10));
  }
  ASSAY_RETURN_IF_ERROR(ReadToEnd(fd.get(), path, content));
  return content;
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  auto file = AtomicFile::Create(path);
  if (!file.ok()) {
    return file.status();
  }
  ASSAY_RETURN_IF_ERROR(file->Write(content));
  return file->Commit();
}

Status MakeDirectories(const std::string& path) {
  if (IsDirectory(path)) {
    return Status::Ok();
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return ErrnoStatus(error.value(), "create folder", path);
  }
  return Status::Ok();
}

Status CheckWritableDirectory(const std::string& path) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(path));
  const std::string probe = path + "/.assay-probe-" + RandomUid();
  const FileDescriptor fd = OpenFile(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "write into folder", path);
  }
  ::unlink(probe.c_str());
  return Status::Ok();
}

}  // namespace assay
