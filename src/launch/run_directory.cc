#include "launch/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace assay::launch {
namespace {

constexpr char kPrefix[] = "assay-run-";

std::string TemporaryFolder() {
  const char* parent = std::getenv("TMPDIR");
  return parent != nullptr && *parent != '\0' ? parent : "/tmp";
}

/// The folder's lock; invalid when somebody else has it, or when there is no such folder any more.
FileDescriptor TryLock(const std::string& path) {
  FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid() || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return FileDescriptor();
  }
  struct stat held = {};
  // A sweeper may have removed it between the opening and the lock.
  return ::fstat(folder.get(), &held) == 0 && held.st_nlink > 0 && held.st_uid == ::geteuid() ? std::move(folder)
                                                                                              : FileDescriptor();
}

void Remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

void SweepRunDirectories(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) {
      continue;
    }
    if (const FileDescriptor lock = TryLock(entry->path().string()); lock.valid()) {
      Remove(entry->path().string());
    }
  }
}

Result<RunDirectory> RunDirectory::Create() {
  const std::string parent = TemporaryFolder();
  SweepRunDirectories(parent);
  constexpr int kTries = 100;  // another controller may sweep a folder before it is locked
  for (int i = 0; i < kTries; ++i) {
    std::string path = parent + "/" + kPrefix + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return ErrnoStatus(errno, "create temporary folder", path);
    }
    if (FileDescriptor lock = TryLock(path); lock.valid()) {
      return RunDirectory(std::move(path), std::move(lock));
    }
  }
  return Status::Io("cannot create a temporary folder in " + parent + ": other programs remove it at once");
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::exchange(other.path_, std::string())), lock_(std::move(other.lock_)) {}

RunDirectory::~RunDirectory() {
  if (!path_.empty()) {
    Remove(path_);
  }
}

}  // namespace assay::launch
