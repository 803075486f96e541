#include "storage/file/staged_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "storage/file/folder_below.h"
#include "storage/file/key_path.h"

namespace assay::storage {
namespace {

constexpr std::string_view kKeySuffix = ".key";
constexpr std::string_view kNotesSuffix = ".notes";

constexpr const char* kUploads = "uploads";
constexpr char kOwnDescriptors[] = "/proc/self/fd/";

std::string KeyLinkOf(const std::string& name) {
  return name + std::string(kKeySuffix);
}

void RemoveBoth(int folder, const std::string& name) {
  for (const std::string& each : {name, KeyLinkOf(name), name + std::string(kNotesSuffix)}) {
    ::unlinkat(folder, each.c_str(), 0);
  }
}

/// The folder of uploads; invalid with errno set.
FileDescriptor FindStaging(const std::string& root) {
  const FileDescriptor top = OpenRoot(root);
  return top.valid() ? OpenFolderBelow(top.get(), std::string(kOwnFolder) + "/" + kUploads) : FileDescriptor();
}

/// Likewise, made where missing; invalid where another store removed the empty folder between two steps.
Result<FileDescriptor> MakeStaging(const std::string& root) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(root));
  FileDescriptor folder = OpenRoot(root);
  std::string path = root;
  for (const std::string& name : {std::string(kOwnFolder), std::string(kUploads)}) {
    path += "/" + name;
    const bool there = folder.valid() && (::mkdirat(folder.get(), name.c_str(), 0777) == 0 || errno == EEXIST);
    folder = there ? OpenFolderIn(folder.get(), name) : FileDescriptor();
    if (folder.valid()) {
      continue;
    }
    if (errno == ENOTDIR) {
      return Status::InvalidArgument("cannot write into " + root + ": " + path +
                                     " is no folder or a symbolic link (remove it)");
    }
    return errno == ENOENT ? Result<FileDescriptor>(FileDescriptor())
                           : Result<FileDescriptor>(ErrnoStatus(errno, "create folder", path));
  }
  return folder;
}

/// The folder of uploads, in which `make` made something: it returns 0, or the error.
Result<FileDescriptor> MakeInStaging(const std::string& root, const std::function<int(int folder)>& make) {
  FileDescriptor folder;
  int error = ENOENT;
  // Another store cannot remove the empty folder between two steps for long.
  for (int attempt = 0; attempt < 100 && error == ENOENT; ++attempt) {
    ASSAY_ASSIGN_OR_RETURN(folder, MakeStaging(root));
    error = folder.valid() ? make(folder.get()) : ENOENT;
  }
  if (error != 0) {
    return ErrnoStatus(error, "write into folder", root + "/" + std::string(kOwnFolder));
  }
  return folder;
}

std::optional<std::string> ReadLink(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size < 0) {
    return std::nullopt;
  }
  target.resize(static_cast<size_t>(size));
  return target;
}

bool IsUploadId(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

/// `flags` beside reading, writing and creating.
Result<StagedFile> StagedFile::Open(const std::string& root, const std::string& key, std::string name, int flags) {
  const bool reopen = (flags & O_EXCL) == 0;
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor folder, MakeInStaging(root, [&](int made) {
                           const bool linked = ::symlinkat(key.c_str(), made, KeyLinkOf(name).c_str()) == 0;
                           return linked || (reopen && errno == EEXIST) ? 0 : errno;
                         }));
  FileDescriptor fd(RetryOnSignal(
      [&] { return ::openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0666); }));
  if (!fd.valid()) {
    const int error = errno;
    RemoveBoth(folder.get(), name);
    return ErrnoStatus(error, "write into folder", root + "/" + std::string(kOwnFolder));
  }
  return StagedFile(std::move(fd), std::move(folder), std::move(name));
}

Result<StagedFile> StagedFile::Create(const std::string& root, const std::string& key) {
  return Open(root, key, RandomUid(), O_EXCL);
}

Result<StagedFile> StagedFile::CreateUnnamed(const std::string& root, const std::string& key) {
  static const bool can_link = ::access(kOwnDescriptors, X_OK) == 0;
  const FileDescriptor top = can_link ? OpenRoot(root) : FileDescriptor();
  FileDescriptor fd;
  if (top.valid()) {
    // File systems lay a file near the folder that it is made in, and crowd where many are made in one.
    const FileDescriptor own = OpenFolderBelow(top.get(), SplitFilePath(PathOfKey(key)).folder);
    const int folder = own.valid() ? own.get() : top.get();
    fd.Reset(RetryOnSignal([&] { return ::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666); }));
  }
  return fd.valid() ? Result<StagedFile>(StagedFile(std::move(fd), FileDescriptor(), "")) : Create(root, key);
}

int StagedFile::Link(int folder, const std::string& name) const {
  const std::string own = kOwnDescriptors + std::to_string(fd_.get());
  return ::linkat(AT_FDCWD, own.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

Status StagedFile::TakeName(const std::string& root, const std::string& key) {
  const std::string name = RandomUid();
  ASSAY_ASSIGN_OR_RETURN(folder_, MakeInStaging(root, [&](int made) {
                           const bool linked = ::symlinkat(key.c_str(), made, KeyLinkOf(name).c_str()) == 0;
                           return linked ? Link(made, name) : errno;
                         }));
  name_ = name;
  return Status::Ok();
}

Result<StagedFile> StagedFile::Reopen(const std::string& root, const std::string& key, const std::string& id) {
  return Open(root, key, id, 0);
}

Result<StagedNotes> OpenStagedNotes(const std::string& root, const std::string& id) {
  StagedNotes notes;
  notes.name = id + std::string(kNotesSuffix);
  const auto open = [&notes](int folder) {
    constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    notes.fd.Reset(RetryOnSignal([&] { return ::openat(folder, notes.name.c_str(), kFlags, 0600); }));
    return notes.fd.valid() || errno == ELOOP ? 0 : errno;
  };
  ASSAY_ASSIGN_OR_RETURN(notes.folder, MakeInStaging(root, open));
  struct stat status;
  if (!notes.fd.valid() || ::fstat(notes.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Status::InvalidArgument("cannot write into " + root + ": " + std::string(kOwnFolder) + "/" + kUploads + "/" +
                                   notes.name + " is a symbolic link or no file (remove it)");
  }
  return notes;
}

StagedFile::~StagedFile() {
  Discard();
}

void StagedFile::Discard() {
  if (fd_.valid()) {
    fd_.Reset();
    if (is_named()) {
      RemoveBoth(folder_.get(), name_);
    }
  }
}

Result<std::vector<UnfinishedUpload>> ListStaged(const std::string& root, const std::string& prefix) {
  std::vector<UnfinishedUpload> uploads;
  const FileDescriptor folder = FindStaging(root);
  const FolderEntries entries = folder.valid() ? ReadEntries(folder.get()) : FolderEntries(nullptr, ::closedir);
  if (entries == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return uploads;
    }
    return ErrnoStatus(errno, "list the uploads of", root);
  }
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string id = entry->d_name;
    if (!IsUploadId(id)) {
      continue;
    }
    const auto key = ReadLink(folder.get(), KeyLinkOf(id));
    struct stat status;
    if (key.has_value() && key->starts_with(prefix) &&
        ::fstatat(folder.get(), KeyLinkOf(id).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      uploads.push_back({*key, id, static_cast<double>(status.st_mtim.tv_sec)});
    }
  }
  const auto order = [](const UnfinishedUpload& upload) { return std::tie(upload.key, upload.upload_id); };
  std::sort(uploads.begin(), uploads.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return uploads;
}

Status AbortStaged(const std::string& root, const std::string& key, const std::string& upload_id) {
  const FileDescriptor folder = FindStaging(root);
  if (!folder.valid() || !IsUploadId(upload_id) || ReadLink(folder.get(), KeyLinkOf(upload_id)) != key) {
    return Status::NotFound("cannot abort upload " + upload_id + " of " + key +
                            ": there is no such upload (list the unfinished ones)");
  }
  RemoveBoth(folder.get(), upload_id);
  return Status::Ok();
}

void RemoveStagingFolder(const std::string& root) {
  const FileDescriptor top = OpenRoot(root);
  const FileDescriptor own = top.valid() ? OpenFolderIn(top.get(), std::string(kOwnFolder)) : FileDescriptor();
  if (own.valid()) {
    ::unlinkat(own.get(), kUploads, AT_REMOVEDIR);
    ::unlinkat(top.get(), std::string(kOwnFolder).c_str(), AT_REMOVEDIR);
  }
}

}  // namespace assay::storage
