#include "storage/file/file_namespace.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/sync_folder.h"
#include "storage/file/folder_below.h"
#include "storage/file/key_path.h"
#include "storage/file/object_attributes.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

enum class Links { kFollow, kSee };

// What stands under a name; nothing where nothing does.
std::optional<struct stat> Look(int folder, const std::string& name, Links links) {
  struct stat status;
  const int flags = links == Links::kFollow ? 0 : AT_SYMLINK_NOFOLLOW;
  return ::fstatat(folder, name.c_str(), &status, flags) == 0 ? std::optional(status) : std::nullopt;
}

bool IsRegular(int folder, const std::string& name) {
  const auto status = Look(folder, name, Links::kFollow);
  return status && S_ISREG(status->st_mode);
}

// A device, a pipe or a socket: nothing that an object may replace.
bool IsSpecial(int folder, const std::string& name) {
  const auto status = Look(folder, name, Links::kFollow);
  return status && !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode);
}

bool IsAbsence(int error) {
  return error == ENOENT || error == ENOTDIR;
}

// Invalid when there is no regular file of that name.
Result<FileDescriptor> OpenRegular(int folder, const std::string& name, const std::string& path) {
  // A pipe would block its reader without O_NONBLOCK; regular files ignore it.
  FileDescriptor fd(RetryOnSignal([&] { return ::openat(folder, name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (!fd.valid()) {
    return IsAbsence(errno) || errno == ENXIO ? Result<FileDescriptor>(FileDescriptor())
                                              : Result<FileDescriptor>(ErrnoStatus(errno, "open", path));
  }
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) {
    return ErrnoStatus(errno, "read", path);
  }
  return S_ISREG(status.st_mode) ? std::move(fd) : FileDescriptor();
}

struct Target {
  std::string name;
  bool special = false;  // what stands there
};

// The name that the object has in `folder`, or would get: beside the folder when one has its plain name.
Target TargetOf(int folder, const std::string& name) {
  const auto status = Look(folder, name, Links::kFollow);
  if (status && !S_ISDIR(status->st_mode)) {
    return {name, !S_ISREG(status->st_mode)};
  }
  std::string beside = PathBesideFolder(name);
  if (status) {
    const bool special = IsSpecial(folder, beside);
    return {std::move(beside), special};
  }
  return {IsRegular(folder, beside) ? std::move(beside) : name};
}

bool HoldsFor(const WriteCondition& condition, int folder, const std::string& name) {
  if (condition.kind == WriteCondition::Kind::kNone) {
    return true;
  }
  if (condition.kind == WriteCondition::Kind::kAbsent) {
    return !Look(folder, name, Links::kSee);
  }
  // A link is an object like any other, with the etag of what it leads to.
  const auto status = Look(folder, name, Links::kFollow);
  return status && EtagOf(*status) == condition.etag;
}

// 0 or an errno. A link fails where a rename would replace: even a program that knows nothing of the lock cannot come
// between.
int GiveName(const StagedFile& staged, int folder, const std::string& name, bool replace) {
  if (replace) {
    return ::renameat(staged.folder(), staged.name().c_str(), folder, name.c_str()) == 0 ? 0 : errno;
  }
  if (::linkat(staged.folder(), staged.name().c_str(), folder, name.c_str(), 0) != 0) {
    return errno;
  }
  ::unlinkat(staged.folder(), staged.name().c_str(), 0);
  return 0;
}

}  // namespace

std::string FileNamespace::Uri(std::string_view key) const {
  return "file://" + Absolute(key);
}

Result<FileNamespace::Lock> FileNamespace::Take() const {
  Lock lock{OpenFile(root_.c_str(), O_RDONLY | O_DIRECTORY)};
  if (!lock.root.valid()) {
    return ErrnoStatus(errno, "open folder", root_);
  }
  lock.held = RetryOnSignal([&] { return lock_(lock.root.get(), LOCK_EX); }) == 0;
  if (!lock.held && errno != EOPNOTSUPP && errno != ENOSYS && errno != ENOLCK) {
    return ErrnoStatus(errno, "lock folder", root_);
  }
  return lock;
}

Status FileNamespace::CheckCondition(const std::string& key, const WriteCondition& condition) const {
  if (condition.kind != WriteCondition::Kind::kMatches || !OpenRoot(root_).valid()) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const Lock lock, Take());
  return lock.held ? Status::Ok()
                   : Status::Unsupported("cannot write " + Uri(key) +
                                         " only if it matches: its file system has no locks, so another program could "
                                         "come between (write without the condition, or elsewhere)");
}

Result<FileDescriptor> FileNamespace::Open(const std::string& key) const {
  const std::string path = PathOfKey(key);
  const SplitFilePath split(path);
  const FileDescriptor root = OpenRoot(root_);
  const FileDescriptor folder = root.valid() ? OpenFolderBelow(root.get(), split.folder) : FileDescriptor();
  if (!folder.valid()) {
    return IsAbsence(errno) ? Result<FileDescriptor>(FileDescriptor())
                            : Result<FileDescriptor>(ErrnoStatus(errno, "open", Absolute(path)));
  }
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor fd, OpenRegular(folder.get(), split.name, Absolute(path)));
  if (fd.valid()) {
    return fd;
  }
  return OpenRegular(folder.get(), PathBesideFolder(split.name), Absolute(path));
}

Status FileNamespace::MakeFolder(int parent, const std::string& path, const std::string& name) const {
  const auto standing = Look(parent, name, Links::kSee);
  if (standing && !IsRegular(parent, name)) {
    const bool link = S_ISLNK(standing->st_mode);
    return Status::InvalidArgument(
        "cannot write below " + Absolute(path) +
        (link ? ": a symbolic link stands there, and below the folder that was named none is followed (name " +
                    Absolute(path) + "/ itself)"
              : ": a device, a pipe or a socket stands there (choose another folder)"));
  }
  const bool free = !standing || ::renameat(parent, name.c_str(), parent, PathBesideFolder(name).c_str()) == 0;
  const bool made = free && (::mkdirat(parent, name.c_str(), 0777) == 0 || errno == EEXIST);
  return made ? Status::Ok() : ErrnoStatus(errno, "create folder", Absolute(path));
}

Result<FileDescriptor> FileNamespace::MakeFolderOf(int root, const std::string& path, Changed& changed) const {
  const std::string whole = SplitFilePath(path).folder;
  FileDescriptor folder = OpenFolderBelow(root, whole);
  if (folder.valid()) {
    changed.insert(whole);
    return folder;
  }
  folder = OpenFolderBelow(root, "");
  std::string above;
  for (size_t begin = 0, slash = path.find('/'); slash != std::string::npos; slash = path.find('/', begin)) {
    const std::string name = path.substr(begin, slash - begin);
    begin = slash + 1;
    FileDescriptor next = OpenFolderIn(folder.get(), name);
    if (!next.valid() && IsAbsence(errno)) {
      ASSAY_RETURN_IF_ERROR(MakeFolder(folder.get(), path.substr(0, slash), name));
      changed.insert(above);
      next = OpenFolderIn(folder.get(), name);
    }
    if (!next.valid()) {
      return ErrnoStatus(errno, "create folder", Absolute(path.substr(0, slash)));
    }
    folder = std::move(next);
    above = path.substr(0, slash);
  }
  changed.insert(above);
  return folder;
}

Result<FileNamespace::Outcome> FileNamespace::Publish(StagedFile& staged, const std::string& key,
                                                      const WriteCondition& condition, bool durable) const {
  Changed changed;
  ASSAY_ASSIGN_OR_RETURN(Lock lock, Take());
  const std::string path = PathOfKey(key);
  ASSAY_ASSIGN_OR_RETURN(const FileDescriptor folder, MakeFolderOf(lock.root.get(), path, changed));
  const auto [target, special] = TargetOf(folder.get(), SplitFilePath(path).name);
  if (special) {
    return Status::InvalidArgument("cannot write " + Uri(key) +
                                   ": a device, a pipe or a socket stands there (name a file, or - for standard "
                                   "output)");
  }
  if (!HoldsFor(condition, folder.get(), target)) {
    return Outcome::kConditionFailed;
  }
  const bool replace = condition.kind != WriteCondition::Kind::kAbsent;
  int error = staged.is_named() ? GiveName(staged, folder.get(), target, replace) : staged.Link(folder.get(), target);
  if (error == EEXIST && replace) {  // as a link never does
    ASSAY_RETURN_IF_ERROR(staged.TakeName(root_, key));
    error = GiveName(staged, folder.get(), target, replace);
  }
  if (error == EEXIST) {
    return Outcome::kConditionFailed;
  }
  if (error == ENOENT) {
    return Status::NotFound("cannot finish " + Uri(key) + ": its upload was aborted (write it again)");
  }
  if (error == EXDEV) {
    return Status::InvalidArgument("cannot publish " + Absolute(path) + ": its folder is on another file system than " +
                                   root_ + ", where files are made ready (name that folder itself)");
  }
  if (error != 0) {
    return ErrnoStatus(error, "publish", Absolute(path));
  }
  if (durable) {
    const FileDescriptor root = OpenFolderBelow(lock.root.get(), "");
    lock = Lock();
    ASSAY_RETURN_IF_ERROR(Sync(root.get(), changed));
  }
  return Outcome::kPublished;
}

Status FileNamespace::RemoveOne(int root, const std::string& key, Changed& changed) const {
  SplitFilePath split(PathOfKey(key));
  FileDescriptor folder = OpenFolderBelow(root, split.folder);
  if (!folder.valid()) {
    return IsAbsence(errno) ? Status::Ok() : ErrnoStatus(errno, "remove", Absolute(PathOfKey(key)));
  }
  const auto [target, special] = TargetOf(folder.get(), split.name);
  if (special) {
    return Status::Ok();  // no object
  }
  if (::unlinkat(folder.get(), target.c_str(), 0) != 0) {
    return IsAbsence(errno) ? Status::Ok() : ErrnoStatus(errno, "remove", Absolute(PathOfKey(key)));
  }
  std::string emptied = split.folder;
  while (!emptied.empty()) {
    const SplitFilePath above(emptied);
    folder = OpenFolderBelow(root, above.folder);
    if (!folder.valid() || ::unlinkat(folder.get(), above.name.c_str(), AT_REMOVEDIR) != 0) {
      break;
    }
    emptied = above.folder;
  }
  changed.insert(std::move(emptied));
  return Status::Ok();
}

std::vector<Status> FileNamespace::Remove(std::span<const std::string> keys, bool durable) const {
  std::vector<Status> statuses(keys.size());
  const FileDescriptor root = OpenRoot(root_);
  if (!root.valid()) {
    return statuses;
  }
  Changed changed;
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = CheckFileKey(keys[i], Uri(keys[i]));
    if (!statuses[i].ok()) {
      continue;
    }
    const auto lock = Take();
    statuses[i] = lock.ok() ? RemoveOne(lock->root.get(), keys[i], changed) : lock.status();
  }
  const Status synced = durable ? Sync(root.get(), changed) : Status::Ok();
  for (Status& status : statuses) {
    if (status.ok()) {
      status = synced;
    }
  }
  return statuses;
}

Status FileNamespace::Sync(int root, const Changed& changed) const {
  for (std::string path : changed) {
    // Where a folder went since, the name that it had went out of the one above.
    FileDescriptor folder = OpenFolderBelow(root, path);
    while (!folder.valid() && IsAbsence(errno) && !path.empty()) {
      path = SplitFilePath(path).folder;
      folder = OpenFolderBelow(root, path);
    }
    const FileDescriptor readable = folder.valid() ? OpenToRead(folder.get()) : FileDescriptor();
    if (!readable.valid()) {
      return ErrnoStatus(errno, "sync folder", Absolute(path));
    }
    ASSAY_RETURN_IF_ERROR(SyncFolder(readable.get(), Absolute(path)));
  }
  return Status::Ok();
}

}  // namespace assay::storage
