#include "storage/file/file_namespace.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "storage/file/key_path.h"
#include "storage/file/object_attributes.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

// Held while names change. The kernel gives it back when the descriptor closes, also after kill -9.
Result<FileDescriptor> LockFolder(const std::string& folder) {
  FileDescriptor fd = OpenFile(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) {
    return ErrnoStatus(errno, "open folder", folder);
  }
  if (RetryOnSignal([&] { return ::flock(fd.get(), LOCK_EX); }) != 0 && errno != EOPNOTSUPP && errno != ENOSYS &&
      errno != ENOLCK) {
    return ErrnoStatus(errno, "lock folder", folder);
  }
  return fd;
}

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

bool IsRegular(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// A device, a pipe or a socket: nothing that an object may replace.
bool IsSpecial(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// Invalid when there is no regular file of that name.
Result<FileDescriptor> OpenRegular(const std::string& path) {
  // A pipe would block its reader without O_NONBLOCK; regular files ignore it.
  FileDescriptor fd = OpenFile(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ENXIO) {
      return FileDescriptor();
    }
    return ErrnoStatus(errno, "open", path);
  }
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) {
    return ErrnoStatus(errno, "read", path);
  }
  return S_ISREG(status.st_mode) ? std::move(fd) : FileDescriptor();
}

bool HoldsFor(const WriteCondition& condition, const std::string& target) {
  struct stat status;
  const bool exists = ::lstat(target.c_str(), &status) == 0;
  switch (condition.kind) {
    case WriteCondition::Kind::kNone:
      return true;
    case WriteCondition::Kind::kAbsent:
      return !exists;
    case WriteCondition::Kind::kMatches:
      return exists && EtagOf(status) == condition.etag;
  }
  return false;
}

// 0 or an errno. A link fails where a rename would replace: even a program that knows nothing of the lock cannot come
// between.
int GiveName(const std::string& staged, const std::string& target, bool replace) {
  if (replace) {
    return ::rename(staged.c_str(), target.c_str()) == 0 ? 0 : errno;
  }
  if (::link(staged.c_str(), target.c_str()) != 0) {
    return errno;
  }
  ::unlink(staged.c_str());
  return 0;
}

Status SyncFolders(std::vector<std::string> folders) {
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  for (std::string& folder : folders) {
    ASSAY_RETURN_IF_ERROR(SyncFolder(std::move(folder)));
  }
  return Status::Ok();
}

}  // namespace

Status SyncFolder(std::string folder) {
  FileDescriptor fd = OpenFile(folder.c_str(), O_RDONLY | O_DIRECTORY);
  while (!fd.valid() && errno == ENOENT && folder.size() > 1) {
    folder = FolderOf(folder);
    fd = OpenFile(folder.empty() ? "/" : folder.c_str(), O_RDONLY | O_DIRECTORY);
  }
  // Some file systems cannot sync a folder (EINVAL); their renames are as durable as they get.
  if (!fd.valid() || (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS)) {
    return ErrnoStatus(errno, "sync folder", folder);
  }
  return Status::Ok();
}

std::string FileNamespace::Uri(std::string_view key) const {
  return "file://" + Absolute(key);
}

Result<FileDescriptor> FileNamespace::Open(const std::string& key) const {
  const std::string path = Absolute(PathOfKey(key));
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor fd, OpenRegular(path));
  if (fd.valid()) {
    return fd;
  }
  return OpenRegular(PathBesideFolder(path));
}

std::string FileNamespace::TargetOf(const std::string& path) const {
  struct stat status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  std::string beside = PathBesideFolder(path);
  return (exists ? S_ISDIR(status.st_mode) : IsRegular(beside)) ? beside : path;
}

Status FileNamespace::MakeParents(const std::string& path, std::vector<std::string>& changed) const {
  for (size_t slash = path.find('/', root_.size() + 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    int error = ::mkdir(folder.c_str(), 0777) == 0 ? 0 : errno;
    if (error == EEXIST) {
      if (IsDirectory(folder)) {
        continue;
      }
      error = ::rename(folder.c_str(), PathBesideFolder(folder).c_str()) == 0 && ::mkdir(folder.c_str(), 0777) == 0
                  ? 0
                  : errno;
    }
    if (error != 0) {
      return ErrnoStatus(error, "create folder", folder);
    }
    changed.push_back(FolderOf(folder));
  }
  changed.push_back(FolderOf(path));
  return Status::Ok();
}

Result<FileNamespace::Outcome> FileNamespace::Publish(const std::string& staged, const std::string& key,
                                                      const WriteCondition& condition, bool durable) const {
  std::vector<std::string> changed;
  {
    ASSAY_ASSIGN_OR_RETURN(const FileDescriptor lock, LockFolder(root_));
    const std::string path = Absolute(PathOfKey(key));
    ASSAY_RETURN_IF_ERROR(MakeParents(path, changed));
    const std::string target = TargetOf(path);
    if (IsSpecial(target)) {
      return Status::InvalidArgument("cannot write " + Uri(key) +
                                     ": a device, a pipe or a socket stands there (name a file, or - for standard "
                                     "output)");
    }
    if (!HoldsFor(condition, target)) {
      return Outcome::kConditionFailed;
    }
    const bool replace = condition.kind != WriteCondition::Kind::kAbsent;
    const int error = GiveName(staged, target, replace);
    if (error == EEXIST) {
      return Outcome::kConditionFailed;
    }
    if (error == ENOENT) {
      return Status::NotFound("cannot finish " + Uri(key) + ": its upload was aborted (write it again)");
    }
    if (error != 0) {
      return ErrnoStatus(error, "publish", target);
    }
  }
  if (durable) {
    ASSAY_RETURN_IF_ERROR(SyncFolders(std::move(changed)));
  }
  return Outcome::kPublished;
}

Status FileNamespace::RemoveOne(const std::string& key, std::vector<std::string>& changed) const {
  const std::string path = Absolute(PathOfKey(key));
  const std::string target = TargetOf(path);
  if (IsSpecial(target)) {
    return Status::Ok();  // no object
  }
  if (::unlink(target.c_str()) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Status::Ok() : ErrnoStatus(errno, "remove", target);
  }
  std::string folder = FolderOf(path);
  while (folder.size() > root_.size() && ::rmdir(folder.c_str()) == 0) {
    folder = FolderOf(folder);
  }
  changed.push_back(std::move(folder));
  return Status::Ok();
}

std::vector<Status> FileNamespace::Remove(std::span<const std::string> keys, bool durable) const {
  std::vector<Status> statuses(keys.size());
  if (!IsDirectory(root_)) {
    return statuses;
  }
  std::vector<std::string> changed;
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = CheckKey(keys[i], Uri(keys[i]));
    if (!statuses[i].ok()) {
      continue;
    }
    const auto lock = LockFolder(root_);
    statuses[i] = lock.ok() ? RemoveOne(keys[i], changed) : lock.status();
  }
  const Status synced = durable ? SyncFolders(std::move(changed)) : Status::Ok();
  for (Status& status : statuses) {
    if (status.ok()) {
      status = synced;
    }
  }
  return statuses;
}

}  // namespace assay::storage
